/*
 * Count the instructions of a guest by function: a plugin for QEMU, which loads it with -plugin. plugin.py compiles it.
 *
 * The counts depend on the guest alone, because counted instructions do (-icount). Each instruction adds one to its
 * function's counter, without a call. An instruction that faults and runs again counts each time it starts.
 *
 * Arguments: symbols=FILE names a file with a line "ADDRESS NAME" for each function of the kernel, sorted by address,
 * and a line "ADDRESS [NAME]" for each module. mark=NAME is a function that marks a moment when it is entered, and
 * from=N is the first moment that counts (from 1). The last but one is the last that counts, because programs may enter
 * the function in between. out=FILE is where the counts go when QEMU ends: "INSTRUCTIONS CALLS NAME" for each function
 * that ran between the two moments, and at last a line "mark". A call is an execution of a function's first instruction.
 * Code outside the kernel is "user".
 *
 * Modules may lie at other addresses in this guest than in the guest that listed the functions, because the kernel frees
 * their start-up code some time after it loads them. So each instruction behind the kernel is counted alone, until QEMU
 * ends and modules=FILE has this guest's /proc/modules. Code in no function there is "no_symbol".
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
#pragma weak qemu_plugin_register_atexit_cb
size_t qemu_plugin_tb_n_insns(const struct tb *tb);
struct insn *qemu_plugin_tb_get_insn(const struct tb *tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct insn *insn);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*call)(uint64_t id, struct tb *tb));
void qemu_plugin_register_vcpu_insn_exec_inline(struct insn *insn, int operation, void *counter, uint64_t amount);
void qemu_plugin_register_vcpu_insn_exec_cb(struct insn *insn, void (*call)(unsigned cpu, void *data), int flags,
					    void *data);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*call)(uint64_t id, void *data), void *data);

EXPORT int qemu_plugin_version = 1;

enum { ADD = 0, NO_REGISTERS = 0 };
enum { LOOSE = 1 << 17 }; /* instructions behind the kernel, at most. A transfer runs some 12,000. */

struct count {
	uint64_t instructions, calls;
};

static struct function {
	uint64_t start;
	char *name;
} *functions; /* the first is all code outside the kernel */
static size_t total;
static struct module {
	char *name;
	uint64_t listed, here; /* where it begins: in the file of functions, and in this guest (0: not loaded) */
} *modules;
static size_t modules_total;
static uint64_t loose[LOOSE]; /* a hash table of the addresses of instructions behind the kernel */
static size_t loose_total;
static size_t unnamed; /* the function "no_symbol", which begins where the kernel ends */
static struct count *now, *begin, *end, *last; /* of each function, and of each entry of `loose` */
static uint64_t mark;
static long from, moment;
static const char *out, *loaded;

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

/* The functions[] of an instruction behind the kernel. `*first` tells whether it is the function's first. */
static size_t place(uint64_t address, int *first)
{
	const struct module *of = NULL;
	size_t function, length;

	*first = 0;
	for (size_t each = 0; each < modules_total; each++)
		if (modules[each].here && modules[each].here <= address && (!of || modules[each].here > of->here))
			of = &modules[each];
	if (!of)
		return unnamed;
	function = find(address - of->here + of->listed);
	length = strlen(of->name);
	if (strncmp(functions[function].name, of->name, length) || functions[function].name[length] != ':')
		return unnamed;
	*first = functions[function].start == address - of->here + of->listed;
	return function;
}

static void place_all(void)
{
	for (size_t each = 0; each < LOOSE; each++) {
		uint64_t instructions = end[total + each].instructions - begin[total + each].instructions;
		int first;
		size_t function;

		if (!instructions)
			continue;
		function = place(loose[each], &first);
		end[function].instructions += instructions;
		end[function].calls += first ? instructions : 0;
	}
}

static void read_loaded(void)
{
	FILE *file = fopen(loaded, "r");
	unsigned long long here;
	char name[600];

	/* name, size, uses, users, state, address, and sometimes taints */
	while (file && fscanf(file, "%599s %*s %*s %*s %*s %llx%*[^\n]", name, &here) == 2)
		for (size_t each = 0; each < modules_total; each++)
			if (!strcmp(modules[each].name, name))
				modules[each].here = here;
	if (file)
		fclose(file);
}

static void write_counts(uint64_t id, void *data)
{
	FILE *file;

	(void)id, (void)data;
	if (moment <= from + 1)
		return; /* a reader finds no counts, and reports that */
	read_loaded();
	place_all();
	file = fopen(out, "w");
	if (!file)
		return;
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
	if (++moment == from)
		memcpy(begin, now, (total + LOOSE) * sizeof(*now));
	else if (moment > from) { /* `last` is this moment, and `end` the one before */
		struct count *older = end;

		end = last;
		last = older;
		memcpy(last, now, (total + LOOSE) * sizeof(*now));
	}
}

/* The entry of `loose` for this address, behind the counters of the functions. */
static size_t entry(uint64_t address)
{
	size_t each = (address * 0x9e3779b97f4a7c15ULL) % LOOSE;

	while (loose[each] && loose[each] != address)
		each = (each + 1) % LOOSE;
	if (!loose[each]) {
		if (loose_total > LOOSE / 4 * 3)
			return unnamed;
		loose_total++;
		loose[each] = address;
	}
	return total + each;
}

static void translated(uint64_t id, struct tb *tb)
{
	(void)id;
	for (size_t each = 0; each < qemu_plugin_tb_n_insns(tb); each++) {
		struct insn *insn = qemu_plugin_tb_get_insn(tb, each);
		uint64_t address = qemu_plugin_insn_vaddr(insn);
		size_t function = address < functions[unnamed].start ? find(address) : entry(address);

		if (address == mark)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, at_mark, NO_REGISTERS, NULL);
		qemu_plugin_register_vcpu_insn_exec_inline(insn, ADD, &now[function].instructions, 1);
		if (function && function < total && address == functions[function].start)
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

static int add_module(uint64_t listed, const char *name)
{
	struct module *larger = realloc(modules, (modules_total + 1) * sizeof(*modules));

	if (!larger)
		return -1;
	modules = larger;
	modules[modules_total].listed = listed;
	modules[modules_total].here = 0;
	modules[modules_total].name = strdup(name);
	return modules[modules_total++].name ? 0 : -1;
}

static int read_symbols(const char *path, const char *marking)
{
	FILE *file = fopen(path, "r");
	unsigned long long start;
	char name[600];

	if (!file || add(0, "user"))
		return -1;
	while (fscanf(file, "%llx %599s", &start, name) == 2) {
		size_t length = strlen(name);

		if (name[0] == '[' && name[length - 1] == ']') {
			name[length - 1] = 0;
			if (add_module(start, name + 1))
				return -1;
			continue;
		}
		if (add(start, name))
			return -1;
		if (!unnamed && !strcmp(name, "no_symbol"))
			unnamed = total - 1;
		if (!strcmp(name, marking))
			mark = start;
	}
	fclose(file);
	now = calloc(total + LOOSE, sizeof(*now));
	begin = calloc(total + LOOSE, sizeof(*begin));
	end = calloc(total + LOOSE, sizeof(*end));
	last = calloc(total + LOOSE, sizeof(*last));
	return now && begin && end && last && mark && unnamed ? 0 : -1;
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
		else if (!strncmp(argv[each], "modules=", 8))
			loaded = value;
		else
			return -1;
	}
	if (!symbols || !marking || !out || !loaded || from < 1 || read_symbols(symbols, marking)) {
		fprintf(stderr, "count: it cannot start with these arguments\n");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, write_counts, NULL);
	return 0;
}
