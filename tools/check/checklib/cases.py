# SPDX-License-Identifier: GPL-2.0
"""Examples for every rule: small trees that it must reject, and ones that it must accept.

A tree is {path: text}. A text that begins with no SPDX line is fine here: each rule sees the
examples alone, without the others.
"""

from . import cases_tables

SPDX = "SPDX-License-Identifier: GPL-2.0"
# Put together, so that the rules find nothing in this file.
MARK = "TO" + "DO"
FOLDER = "/scr" + "atch/x"
HOST = "deb.debian" + ".org"
TIDY = """Checks: '-*,clang-diagnostic-*,modernize-use-nullptr'
WarningsAsErrors: '*'
HeaderFilterRegex: '.*'
"""

BAD = {
    **cases_tables.BAD,
    "spdx": [
        {"a.cc": "int x;\n"},
        {"a.hh": f"# {SPDX}\n"},
        {"run": f"#!/bin/sh\necho\n# {SPDX}\n"},
        {"README.md": f"# Title\n\n<!-- {SPDX} -->\n"},
        {"Documentation/ABI/testing/sysfs-class-a": f"# {SPDX}\n"},
        {"empty.cc": ""},
    ],
    "length": [{"a.cc": "\n" * 501}, {"run": "#!/bin/sh\n" + "true\n" * 500}],
    "unfinished": [{"a.cc": f"// {MARK}: later\n"}, {"b.py": "raise X('not imple" + "mented')\n"}],
    "places": [
        {"a.sh": f"cd {FOLDER}\n"},
        {"a.py": f"url = 'http://{HOST}/debian'\n"},
        {"b.md": "see /wo" + "rk/main for it\n"},
    ],
    "field-names": [{"kmod/a.hh": "class Out" "box;\n"}, {"tests/unit/a.cc": "// The led" "ger knows.\n"}],
    "links": [{"README.md": "[x](Documentation/none.md)\n"}, {"a/b.md": "[x](../c.md#y)\n"}],
    "citations": [
        {"a.cc": "// protocol A.9\n", "Documentation/protocol.md": "# A. Wire\n## A.1 Constants\n"},
        {"a.cc": "// protocol A.1\n"},
    ],
    "editorconfig": [
        {".editorconfig": "[*.cc]\nindent_style = tab\n", "a.cc": "        int x;\n"},
        {".editorconfig": "[*.cc]\nindent_style = tab\n", "a.cc": "  \tint x;\n"},
        {".editorconfig": "[*.py]\nindent_style = space\n", "run": "#!/usr/bin/python3\n\tx\n"},
        {".editorconfig": "[*]\ninsert_final_newline = true\n", "a.cc": "int x;"},
        {".editorconfig": "[*]\ntrim_trailing_whitespace = true\n", "a.cc": "int x; \n"},
        {".editorconfig": "[*]\nend_of_line = lf\n", "a.cc": "int x;\r\n"},
        {".editorconfig": "[*.{c,cc}]\nmax_line_length = 20\n", "a.cc": "\t\tint long_x;\n"},
        {"a.cc": "int x;\n"},
    ],
    "pure-layer": [
        {"kmod/rtrs/wire/a.hh": "#include <linux/types.h>\n"},
        {"kmod/rtrs/pure/a.cc": "#include <string>\n"},
        {
            "kmod/rtrs/pure/a.hh": "#include <cxxrt/lock.hh>\n",
            "cxxrt/include/cxxrt/lock.hh": "// Locks.\n",
        },
        {"cxxrt/include/cxxrt/types.hh": f"// {SPDX}\n// Types. Pure.\n#include <cstdint>\n"},
    ],
    "kernel-headers": [
        {"kmod/rtrs/server/a.cc": "#include <linux/slab.h>\n"},
        {"tests/kunit/a.cc": "#include <kunit/test.h>\n"},
        {
            "kmod/rtrs/server/a.cc": '#include "stub.h"\n',
            "kmod/rtrs/server/stub.h": "#include <linux/module.h>\n",
        },
    ],
    "modules": [
        {
            "kmod/rnbd/client/a.cc": "#include <rtrs/client/session.hh>\n",
            "kmod/rtrs/client/session.hh": "\n",
        },
        {
            "kmod/rnbd/client/a.cc": "#include <rtrs/wire/immediate.hh>\n",
            "kmod/rtrs/wire/immediate.hh": "\n",
        },
        {
            "kmod/rtrs/client/a.cc": "#include <rnbd/wire/io.hh>\n",
            "kmod/rnbd/wire/io.hh": "\n",
        },
        {"cxxrt/runtime/a.cc": "#include <rtrs/rtrs.hh>\n", "kmod/rtrs/rtrs.hh": "\n"},
    ],
    "sides": [
        {
            "kmod/rtrs/client/a.cc": "#include <rtrs/server/slot.hh>\n",
            "kmod/rtrs/server/slot.hh": "\n",
        },
        {"kmod/rnbd/rnbd-srv.cc": '#include "clt-device.hh"\n', "kmod/rnbd/clt-device.hh": "\n"},
    ],
    "userspace": [
        {
            "tests/unit/a.cc": "#include <rtrs/client/session.hh>\n",
            "kmod/rtrs/client/session.hh": "\n",
        },
        {
            "tools/rnbdadm/a.cc": "#include <cxxrt/kernel.hh>\n",
            "cxxrt/include/cxxrt/kernel.hh": "// The kernel.\n",
        },
    ],
    "headers": [
        {"a.hh": "int f();\n"},
        {"a.hh": "#pragma once\nusing namespace cxxrt;\n"},
        {"a.hh": "// #pragma once\n"},
    ],
    "language": [
        {"kmod/rtrs/a.cc": code}
        for code in [
            "std::string s;\n",
            "void f() { throw 1; }\n",
            "auto *p = dynamic_cast<A *>(q);\n",
            "thread_local int x;\n",
            "double ratio(int a);\n",
            "A *a = new A;\n",
            "A *a = new A(GFP_KERNEL);\n",
            "char *a = new char[3];\n",
            "delete[] a;\n",
            "goto out;\n",
            "volatile int x;\n",
            "co_await x;\n",
        ]
    ]
    + [{"cxxrt/include/cxxrt/a.hh": "std::move(x);\n"}, {"tests/kunit/a.cc": "try {\n}\n"}],
    "lockdep-names": [
        {"kmod/rtrs/a.cc": 'using namespace cxxrt;\nauto c = lock_class<"x">();\n'},
    ],
    "vocabulary": [
        {"kmod/rtrs/a.cc": code}
        for code in [
            "p = kzalloc(4, GFP_KERNEL);\n",
            "kfree(p);\n",
            "c = alloc_percpu(int);\n",
            "mutex_lock(&m);\n",
            "\tspin_lock_irqsave(&l, flags);\n",
            "rcu_read_lock();\n",
            "INIT_WORK(&w, f);\n",
            "queue_work(wq, &w);\n",
            "list_add_tail(&a, &b);\n",
            "list_for_each_entry(a, b, c)\n",
            "wait_event(q, x);\n",
            "::complete_all(&c);\n",
            "refcount_inc(&r);\n",
            "kobject_put(&k);\n",
            "x = xa_load(&xa, 1);\n",
            "return ERR_PTR(-5);\n",
            'pr_info("x");\n',
            "msleep(5);\n",
            "const int code = lookup_bdev(path, &number);\n",
            "TRY(Status::from_code(kern_path(name, 0, &p)));\n",
            "x = blk_mq_alloc_tag_set(&set);\n",
            "BUG_ON(x);\n",
            "// raw call\nkfree(p);\n",
        ]
    ],
    "globals": [
        {"kmod/rtrs/a.cc": code}
        for code in [
            "int x;\n",
            "namespace rtrs {\nint count = 3;\n}\n",
            "static Foo foo{1, 2};\n",
            "const char *name = \"x\";\n",
            "Foo foo(1);\n",
            "inline bool flag;\n",
            "const Table table[] = {{1}, {2}};\n",
            "struct list_head head;\n",
            "void f()\n{\n\tstatic int calls = 0;\n}\n",
            "struct S {\n\tS() : a_{1}, b_{2} { static int n; }\n};\n",
            "struct S {\n\tstatic inline int x = 1;\n};\n",
            "constinit const T t = [] { static int n; return T{}; }();\n",
            "auto f = [] { return 1; };\n",
            "int after_function() { return 1; }\nint x;\n",
            "template <class T> T *slot = nullptr;\n",
            "extern \"C\" {\nint x;\n}\n",
            "extern \"C\" void __leading(void)\n{\n\tf();\n}\nint x;\n",
        ]
    ],
    "type-names": [
        {"kmod/rtrs/a.hh": "struct my_type {\n};\n"},
        {"cxxrt/include/cxxrt/a.hh": "class lower : public Base {\n};\n"},
        {"kmod/rtrs/a.hh": "enum class path_state : u8 { kUp };\n"},
    ],
    "language-by-suffix": [
        {"kmod/rtrs/a.h": "namespace rtrs {\n}\n"},
        {"kmod/rtrs/a.c": "constexpr int x = 1;\n"},
        {"a.h": "#ifdef __cplusplus\n#endif\nvoid *x = nullptr;\n"},
    ],
    "unit-names": [
        {
            "kmod/a/Kbuild": "a-cc := x.cc \\\n\ty.cc\n",
            "kmod/a/x.cc": "namespace {\nint f(int a)\n{\n}\n} // namespace\n",
            "kmod/a/y.cc": "namespace {\ntemplate <class T> int *f(T a) { return a; }\n} // namespace\n",
        },
        {
            "tests/a/Kbuild": "a-cc := x.cc\n",
            "tests/a/x.cc": "namespace {\n\nlong read_file(const char *p)\n{\n\treturn g(p);\n}\n\n} // namespace\n",
            "cxxrt/include/cxxrt/a.hh": "namespace cxxrt {\ninline int read_file(const char *p)\n{\n}\n}\n",
        },
    ],
    "kernel-versions": [
        {"kmod/rtrs/a.cc": "#if LINUX_VERSION_CODE < 1\n#endif\n"},
        {"kmod/rtrs/a.c": "#include <linux/version.h>\n"},
        {"cxxrt/include/cxxrt/a.hh": "constexpr int k = KERNEL_VERSION(6, 2, 0);\n"},
        {"tests/cxxrt/a.inc": "ADD(LINUX_VERSION_MAJOR);\n"},
        {"kmod/rtrs/Kbuild": "ifeq ($(PATCHLEVEL),1)\nendif\n"},
    ],
    "kernel-probes": [
        {"cxxrt/overlay/probes.c": "PROBE(gone, gone())\n"},
        {
            "cxxrt/overlay/probes.c": "PROBE(used, f())\nPROBE(gone, gone())\n",
            "cxxrt/include/cxxrt/a.hh": "#include <cxxrt/probes.h>\n#if CXXRT_PROBE_used\n#endif\n"
            "// CXXRT_PROBE_gone\n",
        },
        {
            "cxxrt/overlay/probes.c": "PROBE(used, f())\n",
            "cxxrt/include/cxxrt/a.hh": "#if CXXRT_PROBE_used\n#endif\n",
        },
        {"cxxrt/include/cxxrt/a.hh": "#include <cxxrt/probes.h>\n#if CXXRT_PROBE_none\n#endif\n"},
        {"kmod/rtrs/a.h": "#include <cxxrt/probes.h>\n"},
        {
            "cxxrt/overlay/probes.c": "PROBE(used, f())\n",
            "cxxrt/include/cxxrt/a.hh": "#include <cxxrt/probes.h>\n#if CXXRT_PROBE_used\n#endif\n",
            "tests/cxxrt/b.cc": "#if CXXRT_PROBE_used\n#endif\n",
        },
    ],
    "cxxrt-names": [
        {"Documentation/cxxrt.md": text, "cxxrt/include/cxxrt/a.hh": "class LockGuard;\n"}
        for text in [
            "Of LockGuards.\n",
            "Call `no_such_call()`.\n",
            "Say `#include <cxxrt/b.hh>`.\n",
            "See `build/none.sh`.\n",
            "```c++\nauto x = cxxrt::make();\n```\n",
        ]
    ]
    + [{"cxxrt/include/cxxrt/a.hh": "// Of LockGuard.\nclass Lock;\n"}],
    "cxxrt-headers": [
        {"Documentation/cxxrt.md": "`lock.hh`\n", "cxxrt/include/cxxrt/a_lock.hh": "int a;\n"}
    ],
    "cxxrt-version": [
        {
            "cxxrt/build/version.mk": "CXXRT_VERSION := 1.1.0\n",
            "cxxrt/CHANGELOG.md": "# Changes\n\n## 1.0.0\n\n## 1.1.0\n",
        }
    ],
    "clang-format": [
        {".clang-format": "BasedOnStyle: LLVM\n", "a.cc": "int  f( ) {return 1;}\n"},
        {".clang-format": "BasedOnStyle: LLVM\n", "cxxrt/a.h": "struct  a;\n"},
    ],
    "clang-tidy": [
        {
            ".clang-tidy": TIDY,
            "kmod/rtrs/pure/a.hh": "#pragma once\ninline int *p = 0;\n",
        },
        {
            ".clang-tidy": TIDY,
            "tests/unit/a.cc": '#include "none.hh"\n',
        },
    ],
    "shellcheck": [{"a.sh": "#!/bin/sh\ncd $1\n"}, {"agent": "# shellcheck shell=sh\nrm $x\n"}],
    "pyflakes": [{"a.py": "import os\n"}, {"run": "#!/usr/bin/env python3\nprint(name)\n"}],
    "python-syntax": [{"a.py": "def f(:\n"}, {"b.py": 'x = "\\d"\n'}, {"c.py": "x = 1 is 1\n"}],
    "guide-paste": [{"README.md": "    make install        all of it\n"}],
    "abi-format": [
        {"Documentation/ABI/testing/sysfs-class-a": text}
        for text in [
            "\n",
            "What:\t/sys/a\nDate:\tMay 2024\nContact:\tx\nDescription:\tx\n",
            "What:\t/sys/a\nDate:\t2024\nKernelVersion:\t6.1\nContact:\tx\nDescription:\tx\n",
            "What:\t/sys/a\nDate:\tMay 2024\nKernelVersion:\t6.1\nContact:\tx\nDescription:\n",
            "What:\tsys/a\nDate:\tMay 2024\nKernelVersion:\t6.1\nContact:\tx\nDescription:\tx\n",
        ]
    ],
    "abi-complete": [
        {"kmod/rtrs/client/a.cc": 'auto f = SysfsFile<P>::read_only("state", &P::show);\n'},
        {
            "kmod/rtrs/client/a.cc": 'auto s = "other";\n',
            "Documentation/ABI/testing/sysfs-class-rtrs-client": "What:\t/sys/class/x/<y>/state\n",
        },
        {"kmod/rtrs/core/a.cc": 'auto f = SysfsFile<P>::read_only("state", &P::show);\n'},
    ],
    "parameters": [
        {"kmod/rtrs/server/stub.c": "module_param(depth, int, 0444);\n", "Documentation/modules.md": "depths\n"},
        {"kmod/rtrs/server/stub.c": 'module_param_named(depth, d, int, 0444);\n'},
    ],
}

GOOD = {
    **cases_tables.GOOD,
    "spdx": [
        {"a.cc": f"// {SPDX}\n", "run": f"#!/bin/sh\n# {SPDX}\n", "R.md": f"<!-- {SPDX} -->\n"},
        {"LICENSE": "GPL\n", "a.json": "{}\n", "tests/fuzz/corpus/a": "a\n", "Makefile": f"# {SPDX}\n"},
        {"Documentation/ABI/testing/sysfs-class-a": f".. {SPDX}\n", "a.h": f"/* {SPDX} */\n"},
    ],
    "length": [{"a.cc": "\n" * 500, "Documentation/long.md": "\n" * 900}],
    "unfinished": [{"a.sh": "mktemp -d x.XXX" + "XXX\n"}],
    "places": [{"a.cc": "#include <cxxrt/work.hh>\n", "a.sh": 'cd "$top/work/x"\n'}],
    "field-names": [{"kmod/a.hh": "class SendBatch;\n", "tools/a.py": "out" "box = []\n"}],
    "links": [{"a.md": "[x](b/c.md) [y](b) [z](https://x.org) [t](#u)\n", "b/c.md": "\n"}],
    "citations": [
        {"a.cc": "// protocol B.1.2\n", "Documentation/protocol.md": "### B.1.2 Triggers\n"}
    ],
    "editorconfig": [
        {".editorconfig": "[*.cc]\nindent_style = tab\n", "a.cc": "\t\tint x;\n\t    y;\n    : a\n"},
        {".editorconfig": "[*.py]\nindent_style = space\n", "a.py": 'x = """\n\tif x\n"""\n'},
        {".editorconfig": "[*.py]\nindent_style = space\n", "a.py": 'x = f"""\n\t{y}\n\tz\n"""\n'},
    ],
    "pure-layer": [
        {
            "kmod/rtrs/wire/a.hh": "#include <rtrs/wire/b.hh>\n#include <cxxrt/types.hh>\n",
            "kmod/rtrs/wire/b.hh": "\n",
            "cxxrt/include/cxxrt/types.hh": f"// {SPDX}\n// Types. Pure: no kernel header.\n",
        }
    ],
    "kernel-headers": [
        {
            "kmod/rtrs/server/a.cc": '#include <cxxrt/kernel.hh>\n#include "a.h"\n',
            "kmod/rtrs/server/a.h": '#include "b.h"\n#include <linux/types.h>\n',
            "kmod/rtrs/server/b.h": "#include <linux/list.h>\n",
            "kmod/rtrs/server/stub.c": "#include <linux/module.h>\n",
            "cxxrt/include/cxxrt/kernel.hh": "#include <cxxrt/overlay/headers.h>\n",
            "cxxrt/include/cxxrt/overlay/headers.h": "#include <linux/list.h>\n",
        }
    ],
    "modules": [
        {
            "kmod/rnbd/client/a.cc": "#include <rtrs/rtrs.hh>\n#include <rtrs/wire/units.hh>\n",
            "kmod/rtrs/rtrs.hh": "\n",
            "kmod/rtrs/wire/units.hh": "\n",
        }
    ],
    "sides": [
        {
            "kmod/rtrs/client/a.cc": '#include "b.hh"\n#include <rtrs/core/cm.hh>\n',
            "kmod/rtrs/client/b.hh": "\n",
            "kmod/rtrs/core/cm.hh": "\n",
        }
    ],
    "userspace": [
        {
            "tests/unit/a.cc": "#include <gtest/gtest.h>\n#include <rtrs/wire/a.hh>\n",
            "kmod/rtrs/wire/a.hh": "\n",
        }
    ],
    "headers": [{"a.hh": "#pragma once\nusing cxxrt::u8;\n"}],
    "language": [
        {
            "kmod/rtrs/a.cc": "A *a = new (GFP_KERNEL) A(1); // throw, std::move\n"
            'const char *s = "goto new home";\ndelete a;\nA(const A &) = delete;\n',
            "cxxrt/new.hh": "void *operator new(size_t, std::align_val_t, gfp_t) noexcept;\n",
        },
        {"tests/unit/a.cc": "std::string s;\n"},
    ],
    "lockdep-names": [
        {
            "kmod/rtrs/a.cc": 'using namespace cxxrt;\nauto c = cxxrt::lock_class<"x">();\n',
            "kmod/rtrs/b.cc": 'namespace rtrs {\nauto c = lock_class<"x">();\n}\n',
        }
    ],
    "vocabulary": [
        {
            "kmod/rtrs/a.cc": "queue_.wake_up();\nlist.list_add(x);\n// kfree(p)\n"
            "// raw: the kernel frees it\np = kmalloc(1);\nq = kmalloc(1); // raw: likewise\n",
            "cxxrt/include/cxxrt/a.hh": "kfree(p);\n",
            "kmod/rtrs/stub.c": "pr_info(1);\n",
        }
    ],
    "globals": [
        {
            "kmod/rtrs/a.cc": "constinit Foo foo{};\nextern int x;\nstruct Later;\n"
            "int f(int a = 3);\n"
            "enum class E : u8 { kA, kB };\nusing X = Y<1>;\nstatic_assert(sizeof(X) == 1);\n"
            "constinit const T t = [] { T o{}; o.x = 1; return o; }();\n"
            "MODULE_THING(x);\nvoid S::f()\n{\n\tint local = 1;\n\tfor (int i = 0; i < 3; i++)\n"
            "\t\tg([&] { return local; });\n\tstatic constexpr int kN = 2;\n}\n"
            "template <class T> requires Foo<T> T g(T t) { return t; }\n"
            "S::S() : a_(1), b_{2}, c_{3} {}\n"
            "bool operator==(const S &a, const S &b);\n"
            "struct S {\n\tint x = 1;\n\tstatic int f() { return 1; }\n\tstatic int declared;\n"
            "\tstatic constexpr int kM = 2;\n};\nstatic int helper(struct device *dev)\n{\n}\n"
        }
    ],
    "type-names": [
        {"kmod/rtrs/a.h": "struct shared_type;\n", "kmod/rtrs/a.hh": "struct shared_type {\n};\n"},
        {"kmod/rtrs/a.hh": "struct ib_device;\nclass Path final : public Ref {\n};\nenum E {};\n"},
    ],
    "language-by-suffix": [
        {"a.h": "#ifdef __cplusplus\nextern \"C\" {\nnamespace a {}\n#endif\nint f(void);\n"}
    ],
    "unit-names": [
        {
            "kmod/a/Kbuild": "a-y := z.o\na-cc := x.cc y.cc\n",
            "kmod/a/x.cc": "namespace {\nint f(int a)\n{\n}\nstruct S {\n\tint read();\n\tint g();\n};\n"
            "} // namespace\nint read()\n{\n}\n",
            "kmod/a/y.cc": "namespace {\nint S::g() { return f(1); }\nint h() { return f(1); }\n} // namespace\n",
            "kmod/a/z.cc": "namespace {\nint f() { return 1; }\n} // namespace\n",
            "kmod/a/a.hh": "struct T {\n\tint h();\n};\n",
        },
    ],
    "kernel-versions": [
        {
            "kmod/rtrs/a.cc": "// LINUX_VERSION_CODE\nconst char *v = \"KERNEL_VERSION\";\n",
            "tests/unit/a.cc": "int KERNEL_VERSION;\n",
            "cxxrt/build/check-kernel.sh": "grep UTS_RELEASE\n",
        }
    ],
    "kernel-probes": [
        {
            "cxxrt/overlay/probes.c": "/* PROBE(x, y) */\nPROBE(used, f())\n",
            "cxxrt/include/cxxrt/a.hh": "#include <cxxrt/probes.h>\n#if CXXRT_PROBE_used\n#endif\n",
        }
    ],
    "cxxrt-names": [
        {
            "Documentation/cxxrt.md": "A LockGuard, `<cxxrt/a.hh>`, `cxxrt/a.hh`, `<cxxrt/probes.h>`.\n"
            "```c++\nint my_own = cxxrt::take();\n```\n",
            "cxxrt/include/cxxrt/a.hh": "class LockGuard;\nint take();\n",
        }
    ],
    "cxxrt-headers": [
        {"Documentation/cxxrt.md": "`a.hh`\n", "cxxrt/include/cxxrt/a.hh": "int a;\n"},
        {"Documentation/cxxrt.md": "\n", "cxxrt/include/cxxrt/detail/a.hh": "int a;\n"},
    ],
    "cxxrt-version": [
        {
            "cxxrt/build/version.mk": "CXXRT_VERSION := 1.1.0\n",
            "cxxrt/CHANGELOG.md": "# Changes\n\n## 1.1.0\n\n## 1.0.0\n",
        }
    ],
    "clang-format": [{".clang-format": "BasedOnStyle: LLVM\n", "a.cc": "int f() { return 1; }\n"}],
    "clang-tidy": [
        {
            ".clang-tidy": TIDY,
            "kmod/rtrs/pure/a.hh": "#pragma once\ninline int *p = nullptr;\n",
            "kmod/rtrs/client/b.cc": "#include <linux/slab.h>\n",
        }
    ],
    "shellcheck": [{"a.sh": '#!/bin/sh\ncd "$1" || exit\n'}],
    "pyflakes": [{"a.py": "import os\n\nprint(os)\n"}],
    "python-syntax": [{"a.py": "x = 1\n"}],
    "guide-paste": [
        {"README.md": "    make install        # all of it\n    UUID=x   /srv   ext4   _netdev   0   2\n\ta    b  c\n"}
    ],
    "abi-format": [
        {
            "Documentation/ABI/testing/sysfs-class-a": "What:\t/sys/a\nWhat:\t/sys/b\n"
            "Date:\tMay 2024\nKernelVersion:\t6.1\nContact:\tx\nDescription:\tx\n\t\ty: z\n"
        }
    ],
    "abi-complete": [
        {
            "kmod/rtrs/client/a.cc": 'auto f = SysfsFile<P>::read_only("state", &P::show);\n',
            "Documentation/ABI/testing/sysfs-class-rtrs-client": "What:\t/sys/class/x/<y>/state\n",
            "Documentation/ABI/testing/sysfs-class-rnbd-client": "What:\t/sys/class/x/<y>/open\n",
        }
    ],
    "parameters": [
        {"kmod/rtrs/server/stub.c": "module_param(depth, int, 0444);\n", "Documentation/modules.md": "`depth`\n"}
    ],
}
