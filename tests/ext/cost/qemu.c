/*
 * A stand-in for QEMU's plugin interface, to test count.c without a guest. Each line of standard input, "ADDRESS TIMES",
 * executes the instruction at this address so many times.
 */
#include COUNT

struct insn {
	uint64_t address;
	uint64_t *counters[4];
	size_t total;
	void (*call)(unsigned cpu, void *data);
};

struct tb {
	struct insn *only;
};

static void (*translate)(uint64_t id, struct tb *tb);
static void (*leave)(uint64_t id, void *data);

size_t qemu_plugin_tb_n_insns(const struct tb *tb)
{
	(void)tb;
	return 1;
}

struct insn *qemu_plugin_tb_get_insn(const struct tb *tb, size_t index)
{
	(void)index;
	return tb->only;
}

uint64_t qemu_plugin_insn_vaddr(const struct insn *insn)
{
	return insn->address;
}

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*call)(uint64_t id, struct tb *tb))
{
	(void)id;
	translate = call;
}

void qemu_plugin_register_vcpu_insn_exec_inline(struct insn *insn, int operation, void *counter, uint64_t amount)
{
	(void)operation, (void)amount;
	insn->counters[insn->total++] = counter;
}

void qemu_plugin_register_vcpu_insn_exec_cb(struct insn *insn, void (*call)(unsigned cpu, void *data), int flags,
					    void *data)
{
	(void)flags, (void)data;
	insn->call = call;
}

void qemu_plugin_register_atexit_cb(uint64_t id, void (*call)(uint64_t id, void *data), void *data)
{
	(void)id, (void)data;
	leave = call;
}

int main(int argc, char **argv)
{
	unsigned long long address;
	unsigned times;

	if (qemu_plugin_install(1, NULL, argc - 1, argv + 1))
		return 1;
	while (scanf("%llx %u", &address, &times) == 2) {
		struct insn insn = { .address = address };
		struct tb tb = { &insn };

		translate(1, &tb);
		while (times--) {
			if (insn.call)
				insn.call(0, NULL);
			for (size_t each = 0; each < insn.total; each++)
				++*insn.counters[each];
		}
	}
	leave(1, NULL);
	return 0;
}
