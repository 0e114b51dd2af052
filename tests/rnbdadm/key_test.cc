// SPDX-License-Identifier: GPL-2.0
// Keys on the disk and in the kernel: made, taken from another machine, loaded, followed, removed.
#include "fake.hh"

#include "key_files.hh"
#include "text.hh"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using rnbdadm::kKeyFolder;

// A secret and its line, as another program has made them.
const std::string kLine = "rnbd-key 1 vm 7 "
			  "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8= ";

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

class RnbdadmKey : public testing::Test {
protected:
	RnbdadmKey() { fs::create_directories(host.place("/etc/rnbd")); }

	Outcome key(const std::string &line, int code = 0)
	{
		Outcome o = run_line(host, "key " + line);
		EXPECT_EQ(o.code, code) << line << "\n" << o.out << o.err;
		shown += o.out + o.err;
		return o;
	}
	std::string file(const std::string &name) const
	{
		return host.place(kKeyFolder + "/" + name);
	}
	unsigned mode(const std::string &path) const
	{
		struct stat s = {};
		EXPECT_EQ(lstat(path.c_str(), &s), 0) << path;
		return s.st_mode & 07777;
	}
	std::string content(const std::string &name) { return host.text(kKeyFolder + "/" + name); }
	// That of its line.
	std::string encoded(const std::string &name)
	{
		return rnbdadm::split(content(name), " ").at(4);
	}
	// What another machine has made, in a file as scp leaves it.
	std::string foreign(const std::string &words)
	{
		FakeHost other;
		fs::create_directories(other.place("/etc/rnbd"));
		EXPECT_EQ(run_line(other, "key generate " + words).code, 0);
		const std::string name = other.list(kKeyFolder).at(0);
		host.put("/root/" + name, other.text(kKeyFolder + "/" + name));
		chmod(host.place("/root/" + name).c_str(), 0600);
		return "/root/" + name;
	}
	std::vector<std::string> in_kernel() const
	{
		std::vector<std::string> names;
		for (const rnbdadm::KernelKey &k : host.ring.value())
			names.push_back(k.description);
		return names;
	}

	FakeHost host;
	std::string shown; // all output
};

using Names = std::vector<std::string>;

} // namespace

TEST_F(RnbdadmKey, Generate)
{
	Outcome o = key("generate client7");
	EXPECT_EQ(mode(file("")), 0700u);
	EXPECT_EQ(mode(file("client7.1")), 0600u);
	EXPECT_TRUE(has(o.out, "key client7:1 in /etc/rnbd/keys.d/client7.1\nfingerprint "))
	    << o.out;
	EXPECT_TRUE(host.kept_secrets);
	key("generate client7");
	key("generate client7 --generation 40");
	key("generate a.b --generation 4096");
	EXPECT_EQ(host.list(kKeyFolder),
		  (Names{"a.b.4096", "client7.1", "client7.2", "client7.40"}));
	EXPECT_NE(encoded("client7.1"), encoded("client7.2"));
	const std::string before = content("client7.2");
	o = key("generate client7 --generation 2", 5);
	EXPECT_EQ(content("client7.2"), before);
	key("generate a.b", 1);
	for (const char *line : {"generate -x", "generate a/b", "generate a:1", "generate .a",
				 "generate vm --generation 0", "generate vm --generation 4097",
				 "generate vm --generation 01", "generate"})
		key(line, 2);
	// What is in the kernel alone is a generation, too.
	host.ring = {{7, "logon", "rnbd:client7:41", 0}};
	o = key("generate client7 -o json");
	EXPECT_EQ(nlohmann::json::parse(o.out)["key"]["generation"], 42);
	key("generate client7 --generation 41", 5);
	EXPECT_EQ(in_kernel(), (Names{"rnbd:client7:41", "rnbd:client7:42"}));
	for (const char *name : {"client7.1", "client7.2", "client7.40", "client7.42"})
		EXPECT_FALSE(has(shown, encoded(name)));
	const std::size_t files = host.list(kKeyFolder).size();
	o = key("generate other --dry-run");
	EXPECT_TRUE(has(o.out, "write a new secret to /etc/rnbd/keys.d/other.1")) << o.out;
	EXPECT_EQ(host.list(kKeyFolder).size(), files);
	host.is_root = false;
	key("generate other", 8);
	EXPECT_EQ(host.list(kKeyFolder).size(), files);
}

// Lines and digests that were computed by another program (python's hashlib).
TEST_F(RnbdadmKey, TheLine)
{
	using namespace rnbdadm;
	Secret secret, other;
	for (std::size_t i = 0; i < secret.size(); i++)
		secret.data()[i] = static_cast<unsigned char>(i);
	const rtrs::KeyId id{rtrs::KeyName::from("vm").value(), {7}};
	KeyLine line;
	write_key_line(id, secret, line);
	const std::string text(line.bytes.text(), line.size);
	EXPECT_EQ(text, kLine + "54baecaf\n");
	EXPECT_EQ(fingerprint_of(secret), "722c:c99d:09e2:413a:9800:623d:1773:5d91");
	EXPECT_EQ(read_key_line(line, other), id);
	EXPECT_TRUE(same_secret(secret, other));
	other.data()[31] ^= 1;
	EXPECT_FALSE(same_secret(secret, other));
}

TEST_F(RnbdadmKey, Add)
{
	const std::string from = foreign("vm --generation 3");
	Outcome o = key("add " + from);
	EXPECT_EQ(mode(file("vm.3")), 0600u);
	EXPECT_EQ(content("vm.3"), host.text(from));
	EXPECT_TRUE(has(o.err, "key load")) << o.err;
	// Once more, with the module; and once more.
	host.ring.emplace();
	for (int i = 0; i < 2; i++) {
		o = key("add " + from);
		EXPECT_EQ(o.err, "");
		EXPECT_EQ(in_kernel(), Names{"rnbd:vm:3"});
	}
	EXPECT_EQ(host.secrets["rnbd:vm:3"].size(), 32u);
	// Another secret of that name.
	const std::string before = content("vm.3");
	o = key("add " + foreign("vm --generation 3"), 5);
	EXPECT_TRUE(has(o.err, "there is another key vm:3 already")) << o.err;
	EXPECT_EQ(content("vm.3"), before);
	// Nobody knows what the kernel has.
	host.ring->push_back({9, "logon", "rnbd:vm:4", 0});
	o = key("add " + foreign("vm --generation 4"), 5);
	EXPECT_TRUE(has(o.err, "key remove vm:4 --force")) << o.err;
	EXPECT_FALSE(host.exists(kKeyFolder + "/vm.4"));
	// Through a pipe.
	const std::string piped = host.text(foreign("pipe"));
	int ends[2];
	ASSERT_EQ(pipe(ends), 0);
	ASSERT_EQ(write(ends[1], piped.data(), piped.size()), static_cast<ssize_t>(piped.size()));
	close(ends[1]);
	host.standard_input = ends[0];
	key("add -");
	close(ends[0]);
	EXPECT_EQ(content("pipe.1"), piped);
	key("add /root/none", 3);
	for (const char *name : {"vm.3", "pipe.1"})
		EXPECT_FALSE(has(shown, encoded(name)));
}

TEST_F(RnbdadmKey, AddRefusesWhatOthersCouldRead)
{
	const std::string from = foreign("vm");
	for (unsigned bits : {0640u, 0604u, 0620u, 0666u, 0610u}) {
		chmod(host.place(from).c_str(), bits);
		Outcome o = key("add " + from, 11);
		EXPECT_TRUE(has(o.err, fmt::format("(mode {:04o})", bits))) << o.err;
	}
	chmod(host.place(from).c_str(), 0600);
	host.key_error = EDQUOT;
	host.ring.emplace();
	Outcome o = key("add " + from, 1);
	EXPECT_TRUE(has(o.err, "the kernel does not take key vm:1")) << o.err;
}

TEST_F(RnbdadmKey, AddRefusesWhatIsNoKey)
{
	const std::string good = host.text(foreign("vm"));
	auto refused = [&](const std::string &text, const char *why) {
		host.put("/root/bad", text);
		chmod(host.place("/root/bad").c_str(), 0600);
		Outcome o = key("add /root/bad", 11);
		EXPECT_TRUE(has(o.err, why)) << text << "\n" << o.err;
		EXPECT_FALSE(host.exists(kKeyFolder));
	};
	refused("", "it is no key");
	refused("key", "it is no key");
	refused(std::string(32, '\x7'), "it is no key");
	refused(rnbdadm::replace_all(good, "rnbd-key 1 ", "rnbd-key 2 "), "a newer rnbdadm");
	// Every byte counts, and every one that is missing or too many.
	for (std::size_t i = std::strlen("rnbd-key 1 "); i < good.size(); i++) {
		std::string bad = good;
		bad[i] = bad[i] == 'b' ? 'c' : 'b';
		refused(bad, "it is damaged");
		refused(good.substr(0, i), "it is damaged");
	}
	refused(good + " more", "it is damaged");
	refused(good + std::string(400, 'x'), "it is damaged");
	refused(good + "\n" + good, "it is damaged");
	// A copy by hand may end otherwise.
	host.put("/root/good", good + " \r\n");
	chmod(host.place("/root/good").c_str(), 0600);
	key("add /root/good");
}

TEST_F(RnbdadmKey, WeakSecrets)
{
	using namespace rnbdadm;
	Secret secret;
	KeyLine line;
	for (const char *weak : {"correct horse battery staple 123", "\1\2\3\4"}) {
		memset(secret.data(), 0, secret.size());
		memcpy(secret.data(), weak, strlen(weak));
		write_key_line({rtrs::KeyName::from("vm").value(), {1}}, secret, line);
		host.put("/root/weak", std::string(line.bytes.text(), line.size));
		chmod(host.place("/root/weak").c_str(), 0600);
		Outcome o = key("add /root/weak", 11);
		EXPECT_TRUE(has(o.err, "its secret is not by chance")) << o.err;
		// Nor from a file that got there otherwise.
		key("generate vm");
		host.put(kKeyFolder + "/vm.1", std::string(line.bytes.text(), line.size));
		EXPECT_TRUE(has(key("check", 12).out, "not by chance"));
		key("load", 11);
		EXPECT_TRUE(host.ring && host.ring->empty());
		host.ring.reset();
		fs::remove_all(file(""));
		host.drop("/etc/rnbd/keys.last");
	}
}

TEST_F(RnbdadmKey, ListAndFingerprints)
{
	EXPECT_EQ(key("list").out, "");
	key("add " + foreign("b --generation 10"));
	key("add " + foreign("b --generation 9"));
	key("add " + foreign("a"));
	Outcome o = key("list");
	EXPECT_TRUE(has(o.out, "NAME  GENERATION  FINGERPRINT ")) << o.out;
	host.ring = {{7, "logon", "rnbd:b:11", 0}, {8, "logon", "rnbd:a:1", 0}};
	chmod(file("b.10").c_str(), 0644);
	o = key("list -o csv -c name,generation,on_disk,in_kernel --no-header");
	EXPECT_EQ(o.out, "a,1,yes,yes\nb,9,yes,no\nb,10,yes,no\nb,11,no,yes\n");
	auto json = nlohmann::json::parse(key("list -o json").out)["keys"];
	EXPECT_EQ(json[0]["fingerprint"].get<std::string>().size(), 39u);
	EXPECT_TRUE(json[0]["problem"].is_null());
	EXPECT_TRUE(json[2]["fingerprint"].is_null());
	EXPECT_TRUE(has(json[2]["problem"], "mode 0644"));
	o = key("show-fingerprint a");
	EXPECT_EQ(o.out, "a:1  " + json[0]["fingerprint"].get<std::string>() + "\n");
	EXPECT_EQ(key("show-fingerprint b:9").out.substr(0, 5), "b:9  ");
	key("show-fingerprint b", 10);
	key("show-fingerprint b:10", 11);
	key("show-fingerprint b:11", 9);
	key("show-fingerprint b:12", 3);
	EXPECT_TRUE(has(key("show-fingerprint c", 3).err, "did you mean"));
	for (const char *name : {"a.1", "b.9", "b.10"})
		EXPECT_FALSE(has(shown, encoded(name)));
	// For completion.
	EXPECT_EQ(run_line(host, "complete key").out, "a\na:1\nb\nb:10\nb:11\nb:9\n");
}

TEST_F(RnbdadmKey, CheckFindsWhatIsWrong)
{
	EXPECT_TRUE(has(key("check").out, "keys: there are none"));
	for (const char *name : {"good", "lax", "cut", "moved", "linked", "pipe"})
		key(std::string("generate ") + name);
	EXPECT_TRUE(has(key("check").out, "6 on the disk; rtrs_core is not loaded"));
	key("load");
	EXPECT_TRUE(has(key("check").out, "6 on the disk, and in the kernel"));
	EXPECT_TRUE(has(run_line(host, "doctor").out, "ok       keys: 6 on the disk"));
	chmod(file("lax.1").c_str(), 0640);
	host.put(kKeyFolder + "/cut.1", content("cut.1").substr(0, 40));
	fs::rename(file("moved.1"), file("moved.2"));
	fs::rename(file("linked.1"), file("linked.9"));
	fs::create_symlink("linked.9", file("linked.1"));
	fs::remove(file("pipe.1"));
	ASSERT_EQ(mkfifo(file("pipe.1").c_str(), 0600), 0);
	host.put(kKeyFolder + "/README", "mine");
	key("generate late");
	std::erase_if(*host.ring,
		      [](const rnbdadm::KernelKey &k) { return k.description == "rnbd:late:1"; });
	host.ring->push_back({70, "user", "rnbd:vm:1", 0});
	host.ring->push_back({71, "logon", "rnbd:vm", 0});
	host.ring->push_back({72, "logon", "rnbd:hand:1", 0});
	host.ring->push_back({73, "", "", EKEYEXPIRED});
	const std::string out = key("check", 12).out;
	for (const char *line :
	     {"key lax:1: /etc/rnbd/keys.d/lax.1: others than its owner may use it (mode 0640)",
	      "key cut:1: /etc/rnbd/keys.d/cut.1: it is damaged",
	      "key moved:2: /etc/rnbd/keys.d/moved.2: it has the key moved:1",
	      "key moved:1: the kernel has it, and it will not be there after the next start",
	      "key linked:1: /etc/rnbd/keys.d/linked.1: it is a link",
	      "key linked:9: /etc/rnbd/keys.d/linked.9: it has the key linked:1",
	      "key pipe:1: /etc/rnbd/keys.d/pipe.1: it is no plain file",
	      "key late:1: it is on the disk, and the kernel does not have it",
	      "keys: /etc/rnbd/keys.d/README: its name is not NAME.GENERATION",
	      "keys: the kernel's key 70: 'rnbd:vm:1' of type user is not",
	      "keys: the kernel's key 71: 'rnbd:vm' of type logon is not",
	      "key hand:1: the kernel has it", "keys: the kernel's key 73: the key in this"})
		EXPECT_TRUE(has(out, std::string("problem  ") + line)) << line << "\n" << out;
	EXPECT_FALSE(has(out, "good"));
	EXPECT_TRUE(has(run_line(host, "doctor").out, "key lax:1: "));
	for (const char *name : {"good.1", "lax.1", "late.1"})
		EXPECT_FALSE(has(shown, encoded(name)));
	host.is_root = false;
	key("check", 8);
	EXPECT_TRUE(has(run_line(host, "doctor").out, "note     keys: only root can look at keys"));
}

// Of what others can change nothing is taken, whatever the files in it are like.
TEST_F(RnbdadmKey, FoldersOfOthers)
{
	key("generate vm");
	for (const char *folder : {"/etc/rnbd", "/etc/rnbd/keys.d"}) {
		for (unsigned bits : {0770u, 0702u}) {
			chmod(host.place(folder).c_str(), bits);
			for (const char *line :
			     {"list", "load", "generate x", "remove vm --force"}) {
				Outcome o = key(line, 11);
				EXPECT_TRUE(has(o.err, fmt::format("{}: others than root can "
								   "change it",
								   folder)))
				    << o.err;
			}
			EXPECT_TRUE(has(key("check", 12).out, "others than root can change it"));
		}
		chmod(host.place(folder).c_str(), 0755);
	}
	key("list");
	host.owner++;
	EXPECT_TRUE(has(key("list", 11).err, "others than root can change it"));
	host.owner--;
	fs::rename(file(""), host.place("/etc/rnbd/elsewhere"));
	fs::create_symlink("elsewhere", host.place(kKeyFolder));
	EXPECT_TRUE(has(key("list", 11).err, "it is a link or a file"));
	EXPECT_TRUE(host.loaded.empty());
}

TEST_F(RnbdadmKey, Load)
{
	// Nothing to do needs no module.
	EXPECT_EQ(key("load").out, "");
	EXPECT_TRUE(host.loaded.empty());
	key("generate a");
	key("generate b");
	key("generate c");
	EXPECT_EQ(key("load -n").out, "load the module rtrs_core\nadd key a:1 to the kernel's "
				      "keyring\nadd key b:1 to the kernel's keyring\nadd key c:1 "
				      "to the kernel's keyring\n");
	EXPECT_FALSE(host.ring);
	chmod(file("b.1").c_str(), 0644);
	// One that is refused costs itself only.
	Outcome o = key("load", 10);
	EXPECT_EQ(o.out, "key a:1: loaded\nkey b.1: failed\nkey c:1: loaded\n");
	EXPECT_TRUE(has(o.err, "b.1: others than its owner")) << o.err;
	EXPECT_EQ(host.loaded, Names{"rtrs_core"});
	EXPECT_EQ(in_kernel(), (Names{"rnbd:a:1", "rnbd:c:1"}));
	chmod(file("b.1").c_str(), 0600);
	EXPECT_EQ(key("load").out, "key a:1: unchanged\nkey b:1: loaded\nkey c:1: unchanged\n");
	EXPECT_EQ(key("load -o csv --no-header").out,
		  "key,a:1,unchanged\nkey,b:1,unchanged\nkey,c:1,unchanged\n");
	EXPECT_EQ(host.loaded.size(), 1u);
}

TEST_F(RnbdadmKey, LoadWithoutAModule)
{
	key("generate a");
	host.module_error = ENOENT;
	Outcome o = key("load", 9);
	EXPECT_TRUE(has(o.err, "cannot load the module rtrs_core")) << o.err;
	// One that makes no keyring.
	class Without : public FakeHost {
		int load_module(const std::string &) override { return 0; }
	} without;
	fs::create_directories(without.place("/etc/rnbd"));
	EXPECT_EQ(run_line(without, "key generate a").code, 0);
	o = run_line(without, "key load");
	EXPECT_EQ(o.code, 9);
	EXPECT_TRUE(has(o.err, "has no keyring")) << o.err;
}

TEST_F(RnbdadmKey, Remove)
{
	for (const char *line : {"generate vm", "generate vm", "generate vm", "load"})
		key(line);
	key("remove vm:4", 3);
	Outcome o = key("remove vm", 4);
	EXPECT_TRUE(has(o.err, "vm:1\n  vm:2\n  vm:3")) << o.err;
	const std::string path = "/sys/class/rtrs-server/alpha/paths/ip:10.0.0.2@ip:10.0.0.1/";
	host.put(path + "src_addr", "ip:10.0.0.2");
	host.put(path + "proven", "vm:1");
	o = key("remove vm:1", 6);
	EXPECT_TRUE(has(o.err, "paths of this machine were proven by it: 1")) << o.err;
	EXPECT_EQ(host.ring->size(), 3u);
	host.put(path + "proven", "vm:2");
	EXPECT_EQ(key("remove vm:1 -n").out, "remove key vm:1 from the kernel's keyring\nremove "
					     "/etc/rnbd/keys.d/vm.1\n");
	EXPECT_EQ(host.ring->size(), 3u);
	key("remove vm:1");
	EXPECT_EQ(in_kernel(), (Names{"rnbd:vm:2", "rnbd:vm:3"}));
	EXPECT_EQ(host.list(kKeyFolder), (Names{"vm.2", "vm.3"}));
	key("remove vm:2 --force");
	// The last one.
	o = key("remove vm", 6);
	EXPECT_TRUE(has(o.err, "there is no other generation")) << o.err;
	host.key_error = EACCES;
	key("remove vm --force", 8);
	EXPECT_EQ(host.list(kKeyFolder), Names{"vm.3"});
	host.key_error = 0;
	// Also a file that nobody would take.
	chmod(file("vm.3").c_str(), 0644);
	key("remove vm --all --force");
	EXPECT_TRUE(host.list(kKeyFolder).empty());
	EXPECT_TRUE(host.ring->empty());
}

TEST_F(RnbdadmKey, Rotate)
{
	key("rotate vm", 3);
	key("generate vm");
	key("load");
	Outcome o = key("rotate vm");
	EXPECT_TRUE(has(o.out, "key vm:2 in /etc/rnbd/keys.d/vm.2\nfingerprint ")) << o.out;
	EXPECT_TRUE(has(o.out, "rnbdadm key add FILE")) << o.out;
	EXPECT_TRUE(has(o.out, "rnbdadm key remove vm:1\n")) << o.out;
	EXPECT_EQ(in_kernel(), (Names{"rnbd:vm:1", "rnbd:vm:2"}));
	o = key("rotate vm -o json");
	EXPECT_EQ(nlohmann::json::parse(o.out)["key"]["in_kernel"], true);
	// Not at a client, whose newest key the server has to know.
	host.client();
	o = key("rotate vm", 1);
	EXPECT_TRUE(has(o.err, "the server must have that first")) << o.err;
	EXPECT_EQ(host.ring->size(), 3u);
	key("rotate vm --force");
	host.server();
	key("rotate vm");
	EXPECT_EQ(host.ring->size(), 5u);
	EXPECT_FALSE(has(shown, encoded("vm.2")));
}

// What the program itself does, in a process of its own.
TEST(RnbdadmKeyHost, NoCoreHasASecret)
{
	const pid_t child = fork();
	if (!child) {
		rnbdadm::Host host;
		host.keep_secrets();
		struct rlimit limit = {1, 1};
		getrlimit(RLIMIT_CORE, &limit);
		_exit(prctl(PR_GET_DUMPABLE) || limit.rlim_cur || limit.rlim_max);
	}
	int status = -1;
	ASSERT_EQ(waitpid(child, &status, 0), child);
	EXPECT_EQ(status, 0);
	// Another machine's files have no kernel.
	EXPECT_FALSE(rnbdadm::Host("/tmp").kernel_keys());
}

TEST(RnbdadmKeyHost, WipedAtItsEnd)
{
	alignas(rnbdadm::Secret) unsigned char place[sizeof(rnbdadm::Secret)];
	auto *secret = new (place) rnbdadm::Secret;
	memset(secret->data(), 0x5a, secret->size());
	secret->~Wiped();
	for (unsigned char byte : place)
		EXPECT_EQ(byte, 0);
}
