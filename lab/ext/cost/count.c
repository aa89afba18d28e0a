/*
 * Count the instructions of a guest by function: a plugin for QEMU, which loads it with -plugin. plugin.py compiles it.
 *
 * The counts depend on the guest alone, because counted instructions do (-icount). Each instruction adds one to its
 * function's counter, without a call. An instruction that faults and runs again counts each time it starts.
 *
 * Arguments: symbols=FILE names a file with a line "ADDRESS NAME" for each function of the kernel, sorted by address.
 * mark=NAME is a function that marks a moment when it is entered, and from=N is the first moment that counts (from 1).
 * The last but one is the last that counts, because programs may enter the function in between. out=FILE is where the
 * counts go: "INSTRUCTIONS CALLS NAME" for each function that ran between the two moments, and at last a line "mark". A
 * call is an execution of a function's first instruction. Code outside the kernel is "user".
 *
 * The declarations are those of QEMU's plugin interface, version 1 (QEMU 4.2 to 8.2), as docs/devel/tcg-plugins.rst of
 * QEMU describes it. Debian does not package the header.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define KERNEL 0xffff800000000000ULL

struct tb;
struct insn;
#pragma weak qemu_plugin_tb_n_insns /* weak, so that preload.py can load the library outside QEMU to test it */
#pragma weak qemu_plugin_tb_get_insn
#pragma weak qemu_plugin_insn_vaddr
#pragma weak qemu_plugin_register_vcpu_tb_trans_cb
#pragma weak qemu_plugin_register_vcpu_insn_exec_inline
#pragma weak qemu_plugin_register_vcpu_insn_exec_cb
size_t qemu_plugin_tb_n_insns(const struct tb *tb);
struct insn *qemu_plugin_tb_get_insn(const struct tb *tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct insn *insn);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*call)(uint64_t id, struct tb *tb));
void qemu_plugin_register_vcpu_insn_exec_inline(struct insn *insn, int operation, void *counter, uint64_t amount);
void qemu_plugin_register_vcpu_insn_exec_cb(struct insn *insn, void (*call)(unsigned cpu, void *data), int flags,
					    void *data);

EXPORT int qemu_plugin_version = 1;

enum { ADD = 0, NO_REGISTERS = 0 };

struct count {
	uint64_t instructions, calls;
};

static struct function {
	uint64_t start;
	char *name;
} *functions; /* the first is all code outside the kernel */
static size_t total;
static struct count *now, *begin, *end;
static uint64_t mark;
static long from, moment;
static const char *out;

static void write_counts(void)
{
	FILE *file = fopen(out, "w");

	if (!file)
		return; /* a reader finds no counts, and reports that */
	for (size_t each = 0; each < total; each++) {
		uint64_t instructions = end[each].instructions - begin[each].instructions;

		if (instructions)
			fprintf(file, "%llu %llu %s\n", (unsigned long long)instructions,
				(unsigned long long)(end[each].calls - begin[each].calls), functions[each].name);
	}
	fputs("mark\n", file);
	fclose(file);
}

static void at_mark(unsigned cpu, void *data)
{
	(void)cpu, (void)data;
	moment++;
	if (moment > from + 1)
		write_counts(); /* up to the moment before, which is the last but one unless a further moment comes */
	if (moment >= from)
		memcpy(moment == from ? begin : end, now, total * sizeof(*now));
}

/* The last function that starts at or before the address. */
static size_t find(uint64_t address)
{
	size_t low = 0, high = total;

	if (address < KERNEL)
		return 0;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (functions[middle].start <= address)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void translated(uint64_t id, struct tb *tb)
{
	(void)id;
	for (size_t each = 0; each < qemu_plugin_tb_n_insns(tb); each++) {
		struct insn *insn = qemu_plugin_tb_get_insn(tb, each);
		uint64_t address = qemu_plugin_insn_vaddr(insn);
		size_t function = find(address);

		if (address == mark)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, at_mark, NO_REGISTERS, NULL);
		qemu_plugin_register_vcpu_insn_exec_inline(insn, ADD, &now[function].instructions, 1);
		if (function && address == functions[function].start)
			qemu_plugin_register_vcpu_insn_exec_inline(insn, ADD, &now[function].calls, 1);
	}
}

static int add(uint64_t start, const char *name)
{
	static size_t room;

	if (total == room) {
		struct function *larger = realloc(functions, (room = room ? 2 * room : 1 << 16) * sizeof(*functions));

		if (!larger)
			return -1;
		functions = larger;
	}
	functions[total].start = start;
	functions[total].name = strdup(name);
	return functions[total++].name ? 0 : -1;
}

static int read_symbols(const char *path, const char *marking)
{
	FILE *file = fopen(path, "r");
	unsigned long long start;
	char name[600];

	if (!file || add(0, "user"))
		return -1;
	while (fscanf(file, "%llx %599s", &start, name) == 2) {
		if (add(start, name))
			return -1;
		if (!strcmp(name, marking))
			mark = start;
	}
	fclose(file);
	now = calloc(total, sizeof(*now));
	begin = calloc(total, sizeof(*begin));
	end = calloc(total, sizeof(*end));
	return now && begin && end && mark ? 0 : -1;
}

EXPORT int qemu_plugin_install(uint64_t id, const void *about, int argc, char **argv)
{
	const char *symbols = NULL, *marking = NULL;

	(void)about;
	for (int each = 0; each < argc; each++) {
		char *value = strchr(argv[each], '=');

		if (!value++)
			return -1;
		if (!strncmp(argv[each], "symbols=", 8))
			symbols = value;
		else if (!strncmp(argv[each], "mark=", 5))
			marking = value;
		else if (!strncmp(argv[each], "from=", 5))
			from = atol(value);
		else if (!strncmp(argv[each], "out=", 4))
			out = value;
		else
			return -1;
	}
	if (!symbols || !marking || !out || from < 1 || read_symbols(symbols, marking)) {
		fprintf(stderr, "count: it cannot start with these arguments\n");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
