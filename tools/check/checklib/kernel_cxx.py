# SPDX-License-Identifier: GPL-2.0
"""What C++ in a kernel module may not contain.

The compiler and the object checks of cxxrt catch most of the first group too; here the reason is
given, and a header that no object uses yet is judged as well.
"""

import re

from . import layering, scan
from .registry import rule

LANGUAGE = {
    r"\bstd\s*::": "there is no std:: in the kernel",
    r"\b(?:throw|try|catch)\b": "no exceptions: return a Result",
    r"\b(?:dynamic_cast|typeid)\b": "no RTTI in the kernel",
    r"\b(?:thread_local|__thread)\b": "no thread-local storage in the kernel",
    r"\b(?:float|double)\b": "no floating point in the kernel",
    r"\bco_(?:await|yield|return)\b": "no coroutines: their frames are allocated unseen",
    r"\bnew\b(?!\s*\()(?!\s*\[)": "`new` without gfp flags or a place",
    r"\bdelete\s*\[": "arrays are cxxrt::Array",
    r"\bgoto\b": "clean up by destructors, not by goto",
    r"\bvolatile\b": "volatile orders nothing: use READ_ONCE, WRITE_ONCE or a lock",
}

# Raw kernel calls that have an owning type in cxxrt: (the calls, what to use).
VOCABULARY = [
    (
        r"k[mzc]alloc(?:_node|_array)?|krealloc(?:_array)?|kv[mzc]alloc(?:_node|_array)?|"
        r"v[mz]alloc(?:_node)?|kfree|kvfree|vfree|kfree_rcu|kfree_sensitive|"
        r"kstrn?dup|kmemdup(?:_nul)?|kasprintf|kvasprintf|kmem_cache_\w+",
        "Box, Array, make_box",
    ),
    (r"(?:__)?alloc_percpu\w*|free_percpu|this_cpu_\w+|per_cpu_ptr", "PerCpu"),
    (
        r"mutex_(?:init|lock\w*|unlock|trylock|destroy)|(?:raw_)?spin_(?:lock|unlock|trylock)\w*|"
        r"(?:read|write)_(?:lock|unlock)\w*|init_rwsem|(?:down|up)_(?:read|write)\w*|"
        r"DEFINE_(?:MUTEX|SPINLOCK|RWLOCK)",
        "Guarded, LockGuard",
    ),
    (
        r"rcu_read_(?:un)?lock\w*|rcu_assign_pointer|rcu_dereference\w*|RCU_INIT_POINTER",
        "RcuReader, RcuPtr",
    ),
    (
        r"INIT_(?:DELAYED_)?WORK\w*|(?:queue|mod|schedule|cancel|flush)_(?:delayed_)?work\w*|"
        r"alloc_(?:ordered_)?workqueue|destroy_workqueue|"
        r"flush_workqueue|drain_workqueue|timer_setup|mod_timer|del_timer\w*",
        "Work, DelayedWork, Workqueue",
    ),
    (
        r"INIT_H?LIST_\w+|LIST_HEAD|__?list_\w+|list_(?:add|del|move|splice|replace|cut|for_each|"
        r"entry|first|last|next|prev|is|empty)\w*|hlist_\w+",
        "List, RcuList",
    ),
    (
        r"init_waitqueue_head|__?wait_event\w*|wait_event\w*|wake_up\w*|init_completion|"
        r"wait_for_completion\w*|complete_all|DECLARE_(?:WAIT_QUEUE_HEAD|COMPLETION)\w*",
        "WaitQueue, Completion",
    ),
    (r"kref_\w+|refcount_\w+|percpu_ref_\w+", "Ref, RefCounted, Inflight"),
    (
        r"kobject_(?:init|add|put|get|del|create|init_and_add)\w*|"
        r"sysfs_(?:create|remove)_(?:file|group|bin_file|dir)\w*|"
        r"device_(?:create|register|unregister|initialize|add|del)|class_(?:create|destroy)|"
        r"sysfs_emit\w*",
        "SysfsDir, ClassDevice, DeviceClass",
    ),
    (r"ida_\w+|idr_\w+|xa_\w+", "IdAllocator, IdMap"),
    (r"ERR_PTR|ERR_CAST|IS_ERR\w*|PTR_ERR\w*", "from_err_ptr and Result"),
    (r"_?printk\w*|pr_(?!fmt\b)\w+|dev_(?:emerg|alert|crit|err|warn|notice|info|dbg)\w*", "Log"),
    (
        r"lookup_bdev|filp_open|kern_path\w*",
        "block_device_at, read_file, list_folder, or ProgramPaths: work items have no file system",
    ),
    (r"blk_mq_alloc_tag_set", "allocate_tags"),
    (r"msleep\w*|usleep_range|mdelay", "DelayedWork or a wait with a time limit"),
    (r"BUG|BUG_ON|panic", "a refusal: a bad peer costs its path, never the machine"),
]
# Where a raw call is right, the reason stands in a comment "raw: ..." beside or above it.
REASON = re.compile(r"//.*\braw: \w")
# A member call (x.wake_up(), x->list_add()) is one of our own types, not the kernel's function.
CALL = r"(?<![\w.>:])(?:::)?(?:{})\s*\("
RAW = [(re.compile(CALL.format(names)), use) for names, use in VOCABULARY]
BANNED = [(re.compile(pattern), why) for pattern, why in LANGUAGE.items()]


def is_module_code(file):
    return file.is_cxx and file.path.startswith(("kmod/", "cxxrt/example/"))


def is_kernel_code(file):
    in_kernel = file.path.startswith(("cxxrt/", *layering.IN_KERNEL))
    # Sources below reject/ are examples that the build of cxxrt must refuse.
    return file.is_cxx and in_kernel and "/reject/" not in file.path


@rule("language", "kernel C++ keeps to the part of the language that works without a runtime")
def language(tree):
    findings = []
    for file in tree.select(is_kernel_code):
        code = without_operator_new(scan.without_preprocessor(file.code))
        for pattern, why in BANNED:
            for found in pattern.finditer(code):
                findings.append(file.find(file.line_of(found.start()), why))
    return sorted(findings, key=lambda finding: (finding.path, finding.line))


def without_operator_new(code):
    """Blanks `operator new`, and the std::align_val_t that the language demands beside it."""
    hide = lambda match: " " * len(match.group())
    code = re.sub(r"\boperator\s+(?:new|delete)\s*(?:\[\])?", hide, code)
    return re.sub(r"\bstd\s*::\s*align_val_t\b", hide, code)


# Kernels with lockdep have a struct lock_class, which a using-directive does not hide.
EVERYTHING_OF_CXXRT = re.compile(r"^using namespace cxxrt;", re.MULTILINE)
AMBIGUOUS = re.compile(r"(?<![\w:])lock_class\s*<")


@rule("lockdep-names", "code that uses all of cxxrt builds for kernels with lockdep, too")
def lockdep_names(tree):
    findings = []
    for file in tree.select(is_kernel_code):
        if not EVERYTHING_OF_CXXRT.search(file.code):
            continue
        for found in AMBIGUOUS.finditer(file.code):
            findings.append(file.find(file.line_of(found.start()), "say cxxrt::lock_class"))
    return findings


@rule("vocabulary", "module C++ uses the owning types of cxxrt, not the kernel's raw calls")
def vocabulary(tree):
    findings = []
    for file in tree.select(is_module_code):
        for number, line in enumerate(file.code_lines, 1):
            for pattern, use in RAW:
                found = pattern.search(line)
                if found and not REASON.search("\n".join(file.lines[max(0, number - 2) : number])):
                    call = found.group().rstrip("( ")
                    findings.append(file.find(number, f"raw {call}(): use {use}"))
    return findings


CONSTANT = re.compile(r"\b(?:constinit|constexpr|consteval)\b")
NO_VARIABLE = re.compile(
    r"^(?:using|typedef|static_assert|friend|extern|namespace|concept|template|return|asm)\b"
)
KEYWORD = r"(?:class|struct|union|enum(?:\s+(?:class|struct))?)"
FORWARD = re.compile(rf"^{KEYWORD}\s+[\w:]+(?:\s*:\s*\w+)?$")
MACRO_CALL = re.compile(r"^[A-Z_][A-Z0-9_]*\s*\(")
DIRECT_INIT = re.compile(r"^[\w:<>*&,\s]+[\s*&]\w+\((?:\d|\"|&|nullptr\b|true\b|false\b)")


def is_variable(text):
    if not text or NO_VARIABLE.match(text) or FORWARD.match(text) or MACRO_CALL.match(text):
        return False
    if not re.match(r"[A-Za-z_]", text) or re.search(r"\boperator\b", text):
        return False
    opening = re.search(r"[=({]", text)
    if opening and opening.group() == "(":
        return DIRECT_INIT.match(text) is not None
    return True


@rule("globals", "every global is constinit or constexpr; no static local needs a guard")
def globals_are_constant(tree):
    """Nothing runs constructors of globals in a module: what is not constant stays zero."""
    findings = []
    for file in tree.select(is_kernel_code):
        for found in scan.declarations(file.code):
            fault = fault_of(found)
            if fault:
                findings.append(file.find(file.line_of(found.offset), fault))
    return findings


def fault_of(found):
    text = found.text
    if CONSTANT.search(text):
        return None
    is_static = re.match(r"(?:inline\s+)?static\b", text) is not None
    if found.scope == scan.FUNCTION:
        return "a static local that is not constexpr or constinit" if is_static else None
    if found.end != ";" or not is_variable(text):
        return None
    if found.scope == scan.NAMESPACE:
        return "a global that is not constinit or constexpr"
    # Without `inline` it is a declaration; the definition stands at namespace scope.
    if found.scope == scan.CLASS and is_static and re.search(r"\binline\b|[={]", text):
        return "a static member that is not constinit or constexpr"
    return None


TYPE = re.compile(rf"\b{KEYWORD}\s+(\w+)\s*(?:final\s*)?(?=[:{{])(?!::)")
CAMEL = re.compile(r"^[A-Z][A-Za-z0-9]*$")


@rule("type-names", "types are named in CamelCase, but for those that a C header declares")
def type_names(tree):
    declared = set()
    for file in tree.select(lambda file: file.suffix == ".h"):
        declared |= set(re.findall(r"\bstruct\s+(\w+)\s*[;{]", file.code))
    findings = []
    for file in tree.select(is_kernel_code):
        for found in TYPE.finditer(scan.without_preprocessor(file.code)):
            name = found.group(1)
            # std::align_val_t has the name that the language demands.
            if not CAMEL.match(name) and name not in declared and name != "align_val_t":
                findings.append(file.find(file.line_of(found.start()), f"'{name}' is no CamelCase"))
    return findings


CXX_WORD = re.compile(
    r"\b(?:template|namespace|constexpr|constinit|nullptr|static_cast|reinterpret_cast|noexcept)\b"
)
CPLUSPLUS = re.compile(r"^#\s*(?:ifdef\s+__cplusplus|if\s+defined\(?\s*__cplusplus)")


@rule("language-by-suffix", "C++ lies in .cc and .hh; .c and .h are C but for #ifdef __cplusplus")
def language_by_suffix(tree):
    findings = []
    # The overlay is C made digestible for C++: its shadows and wrappers are both.
    for file in tree.select(lambda file: file.is_c and "/overlay/" not in file.path):
        depth = hidden = 0
        for number, line in enumerate(file.code_lines, 1):
            if re.match(r"^#\s*if", line):
                depth += 1
                if CPLUSPLUS.match(line) and not hidden:
                    hidden = depth
            elif re.match(r"^#\s*endif", line):
                hidden = 0 if hidden == depth else hidden
                depth -= 1
            elif not hidden and CXX_WORD.search(line):
                findings.append(file.find(number, f"C++ in a {file.suffix} file"))
    return findings
