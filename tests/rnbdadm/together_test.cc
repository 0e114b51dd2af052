// SPDX-License-Identifier: GPL-2.0
// Units of one session that start together, each of which finds half of what another one is making.
#include "fake.hh"

#include <cerrno>

namespace {

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

// Another process maps it just before.
class Overtaken : public FakeHost {
public:
	std::vector<int> write_all(const std::vector<Order> &orders, double seconds) override
	{
		if (!done && orders[0].path.ends_with("/map_device")) {
			done = true;
			FakeHost::write_all(orders, seconds);
			return {error};
		}
		return FakeHost::write_all(orders, seconds);
	}
	bool done = false;
	int error = EEXIST;
};

const std::string kText = "[session s]\npath = 10.0.0.9\n[device a]\nsession = s\ndevice = x\n";

} // namespace

TEST(RnbdadmTogether, APathThatIsBeingMade)
{
	FakeHost host;
	host.client();
	host.session("s");
	host.put("/etc/rnbd/rnbd.conf", kText);
	host.errors["/add_path"] = EEXIST;
	Outcome o = run_line(host, "apply");
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_EQ(o.err, "");
	EXPECT_EQ(o.out, "device a: mapped\n");
	host.errors["/add_path"] = EINVAL;
	EXPECT_EQ(run_line(host, "apply").code, 1);
	// Who adds one by hand is told.
	host.errors["/add_path"] = EEXIST;
	EXPECT_EQ(run_line(host, "path add s 10.0.0.9").code, 5);
}

TEST(RnbdadmTogether, ADeviceThatIsMappedMeanwhile)
{
	Overtaken host;
	host.client();
	host.put("/etc/rnbd/rnbd.conf", kText);
	Outcome o = run_line(host, "apply");
	EXPECT_EQ(o.code, 0) << o.err;
	EXPECT_EQ(o.out, "device a: unchanged\n");
	// What is not there after that is a failure still.
	Overtaken other;
	other.client();
	other.error = ECONNREFUSED;
	other.put("/etc/rnbd/rnbd.conf", kText);
	o = run_line(other, "apply");
	EXPECT_EQ(o.code, 1);
	EXPECT_TRUE(has(o.err, "nobody listens there")) << o.err;
}
