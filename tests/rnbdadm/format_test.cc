// SPDX-License-Identifier: GPL-2.0
// Formats and columns: what a command does not have is refused, and nothing steers the terminal.
#include "fake.hh"

#include "text.hh"

namespace {

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

} // namespace

TEST(RnbdadmFormat, NoneIsIgnored)
{
	FakeHost host;
	host.client();
	for (const char *line : {"list tree -o csv", "list tree -c name", "save -o json",
				 "save -o csv", "save -c name", "dump -o csv", "dump -c name",
				 "metrics -o json", "generate schema -o csv"}) {
		Outcome o = run_line(host, line);
		EXPECT_EQ(o.code, 2) << line;
		EXPECT_EQ(o.out, "") << line;
		EXPECT_NE(o.err, "") << line;
	}
	EXPECT_EQ(run_line(host, "dump -o json").code, 0);
	EXPECT_EQ(run_line(host, "list tree -o json").code, 0);
}

TEST(RnbdadmFormat, WideCharactersHaveTheirPlaces)
{
	FakeHost host;
	host.client();
	host.device(7, "store", "/dev/\xe6\x97\xa5\xe6\x9c\xac"); // two of two columns each
	host.device(8, "store", "/dev/\xc3\xa9");
	EXPECT_EQ(run_line(host, "show rnbd8 -o csv --no-header -c device_path").out,
		  "/dev/\xc3\xa9\n");
	const std::string out = run_line(host, "list --no-header -c device_path,name").out;
	EXPECT_TRUE(has(out, "/dev/\xe6\x97\xa5\xe6\x9c\xac     rnbd7\n")) << out;
	EXPECT_TRUE(has(out, "/dev/\xc3\xa9        rnbd8\n")) << out;
	EXPECT_TRUE(has(out, "/dev/nvme0n1  rnbd0\n")) << out;
}

TEST(RnbdadmFormat, ColumnsAreAddedAndTaken)
{
	FakeHost host;
	host.client();
	std::string head = run_line(host, "list").out;
	head = head.substr(0, head.find('\n'));
	auto header = [&](const std::string &columns) {
		Outcome o = run_words(host, {"list", "-o", "csv", "-c", columns});
		EXPECT_EQ(o.code, 0) << o.err;
		return o.out.substr(0, o.out.find('\n'));
	};
	EXPECT_EQ(header("+owner"), "name,session,device_path,size,access,state,owner");
	EXPECT_EQ(header("-session,-size,+wwid"), "name,device_path,access,state,wwid");
	EXPECT_EQ(header("+name"), "name,session,device_path,size,access,state");
	EXPECT_EQ(header("name,size,-size"), "name");
	EXPECT_FALSE(has(header("all,-name"), "name,"));
	EXPECT_EQ(run_words(host, {"list", "-c", "+nmae"}).code, 2);
	EXPECT_EQ(run_words(host, {"list", "-c", "name,-name"}).code, 2);
	EXPECT_FALSE(has(run_words(host, {"list", "-o", "json", "-c", "-state"}).out, "\"state\""));
}

TEST(RnbdadmFormat, TheUnitOfSizesIsChosen)
{
	FakeHost host;
	host.client();
	auto sizes = [&](const std::string &words) {
		return run_line(host, "list devices --no-header -c size " + words).out;
	};
	const std::string as_ever = sizes("");
	EXPECT_EQ(sizes("--units auto"), as_ever);
	EXPECT_TRUE(has(sizes("--units B"), " B\n"));
	EXPECT_TRUE(has(sizes("--units TiB"), " TiB\n"));
	EXPECT_FALSE(has(sizes("--units KiB"), "MiB"));
	// Who reads numbers gets them as ever.
	EXPECT_EQ(sizes("--units GiB --raw"), sizes("--raw"));
	EXPECT_EQ(sizes("--units GiB -o csv"), sizes("-o csv"));
	Outcome wrong = run_line(host, "list --units GB");
	EXPECT_EQ(wrong.code, 2);
	EXPECT_TRUE(has(wrong.err, "is not auto, B, KiB, MiB, GiB or TiB")) << wrong.err;
}

TEST(RnbdadmFormat, CompletionOffersTheColumnsOfWhatIsListed)
{
	FakeHost host;
	auto columns = [&](const std::string &line) {
		return run_line(host, "complete columns -- " + line).out;
	};
	EXPECT_TRUE(has(columns("list"), "device_path\n"));
	EXPECT_FALSE(has(columns("list"), "hca\n"));
	EXPECT_TRUE(has(columns("list paths -o csv"), "hca\n"));
	EXPECT_TRUE(has(columns("list -o csv exports"), "clients\n"));
	EXPECT_TRUE(has(columns("server export list"), "clients\n"));
	EXPECT_TRUE(has(columns("path list store"), "hca\n"));
	EXPECT_EQ(columns("unmap"), "");
	EXPECT_EQ(columns("nothing"), "");
}

TEST(RnbdadmFormat, ControlBytesAreShownNotSent)
{
	using rnbdadm::printable;
	EXPECT_EQ(printable("a\x1b[31mb"), "a\\x1b[31mb");
	EXPECT_EQ(printable("x\ny\r\x7f"), "x\ny\\x0d\\x7f");
	EXPECT_EQ(printable("\xc3\xa4\xe2\x94\x9c"), "\xc3\xa4\xe2\x94\x9c");
	EXPECT_EQ(printable("\xc2\x9b\xff\xc3"), "\\xc2\\x9b\\xff\\xc3");
	FakeHost host;
	host.client();
	host.server();
	host.device(2, "store", "/dev/\x1b[2Jx");
	host.put("/sys/kernel/config/rnbd/exports/e/device_path", "/dev/\x1b[2Jy");
	host.put("/sys/class/rnbd-server/ctl/devices/a\x1b[2Jz/sessions/alpha/access_mode", "rw");
	for (const char *line :
	     {"list", "list tree", "list exports", "list opened", "server list", "show rnbd2",
	      "explain rnbd2", "stats", "doctor", "list -o json", "dump", "unmap --all -n",
	      "unmap x\x1b[2J", "x\x1b[2J", "map /dev/\x1b[2Jy -n", "list -c \x1b[2J"}) {
		Outcome o = run_line(host, line);
		EXPECT_FALSE(has(o.out + o.err, "\x1b")) << line;
	}
	// As data they are what they are.
	EXPECT_TRUE(has(run_line(host, "list -o csv").out, "\x1b[2J"));
	EXPECT_TRUE(has(run_line(host, "save").out, "\x1b[2J"));
}

// A word that is broken could not be taken from the screen, and a pipe has no width.
TEST(RnbdadmFormat, ListsAreFoldedForANarrowTerminal)
{
	FakeHost host;
	host.server();
	host.put("/sys/kernel/config/rnbd/exports/vm1/allowed_sessions", "alpha beta gamma");
	auto shown = [&](bool is_terminal, std::size_t columns) {
		std::ostringstream out, err;
		rnbdadm::Terminal terminal{out, err, is_terminal, false, true, columns};
		EXPECT_EQ(rnbdadm::run(rnbdadm::split("server export list -c "
						      "name,clients,addresses,users"),
				       host, terminal),
			  0);
		return out.str();
	};
	const std::string whole = "NAME  CLIENTS           ADDRESSES            USERS\n"
				  "vm1   alpha beta gamma  10.0.0.0/30 fd00::2      1\n";
	EXPECT_EQ(shown(true, 50), whole);
	EXPECT_EQ(shown(true, 0), whole);
	EXPECT_EQ(shown(false, 20), whole);
	EXPECT_EQ(shown(true, 49), "NAME  CLIENTS  ADDRESSES    USERS\n"
				   "vm1   alpha    10.0.0.0/30      1\n"
				   "      beta     fd00::2\n"
				   "      gamma\n");
	// Colours take no place.
	host.client();
	host.put("/proc/self/mountinfo", "30 1 252:0 / /srv/data rw - ext4 /dev/rnbd0 rw\n"
					 "31 1 252:0 / /srv/more rw - ext4 /dev/rnbd0 rw");
	std::ostringstream out, err;
	rnbdadm::Terminal terminal{out, err, true, false, true, 33};
	rnbdadm::run(rnbdadm::split("list devices -c name,state,mounts --color always"), host,
		     terminal);
	EXPECT_TRUE(has(out.str(), "  /srv/data /srv/more\n")) << out.str();
	EXPECT_TRUE(has(out.str(), "\033[32m")) << out.str();
}
