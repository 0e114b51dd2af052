// SPDX-License-Identifier: GPL-2.0
// What lies between this machine and a server; RDMA devices of software.
#include "fake.hh"

#include <cerrno>

namespace {

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

const std::string kLost = "/sys/class/rtrs-client/store/paths/ip:10.0.1.2@ip:10.0.1.1/";

class RnbdadmWay : public testing::Test {
protected:
	RnbdadmWay()
	{
		host.client();
		host.put(kLost + "state", "disconnected");
	}

	std::string explained()
	{
		Outcome o = run_line(host, "explain rnbd0");
		EXPECT_EQ(o.code, 12) << o.out;
		return o.out;
	}

	FakeHost host;
};

} // namespace

TEST_F(RnbdadmWay, ANeighbourThatIsAway)
{
	EXPECT_TRUE(has(explained(), "port mlx5_1:1 is active here, neighbour 10.0.1.1 on eth1: "
				     "reachable: if nobody has disconnected the path"))
	    << explained();
	host.neighbours["10.0.1.1"] = "failed";
	EXPECT_TRUE(has(explained(), "neighbour 10.0.1.1 on eth1: failed, nobody there answers "
				     "to it\n         -> is that machine up"))
	    << explained();
	EXPECT_TRUE(has(run_line(host, "doctor").out,
			"problem  path ip:10.0.1.2@ip:10.0.1.1: neighbour 10.0.1.1 on eth1"));
	host.routes["10.0.1.1"] = {0, "eth1", "10.0.1.254", 0};
	host.neighbours["10.0.1.254"] = "incomplete";
	EXPECT_TRUE(has(explained(), "gateway 10.0.1.254 on eth1: incomplete"));
}

TEST_F(RnbdadmWay, AWayThatIsNone)
{
	host.routes["10.0.1.1"] = {EHOSTUNREACH, "", "", 0};
	EXPECT_TRUE(has(explained(),
			"this machine has no way to 10.0.1.1 from 10.0.1.2: No route to host\n"
			"         -> ip route get 10.0.1.1"))
	    << explained();
	host.routes["10.0.1.1"] = {0, "wlan0", "", 0};
	EXPECT_TRUE(has(explained(), "the way to 10.0.1.1 goes over wlan0, which has no RDMA "
				     "device"))
	    << explained();
	// A VLAN of a bond of the port.
	host.routes["10.0.1.1"] = {0, "bond0.7", "", 0};
	host.put("/sys/class/net/bond0.7/lower_bond0/x", "");
	host.put("/sys/class/net/bond0/lower_eth1/x", "");
	EXPECT_TRUE(has(explained(), "neighbour 10.0.1.1 on bond0.7: reachable"));
	// Links that lead in a circle end, too.
	host.routes["10.0.1.1"] = {0, "a", "", 0};
	host.put("/sys/class/net/a/lower_b/x", "");
	host.put("/sys/class/net/b/lower_a/x", "");
	EXPECT_TRUE(has(explained(), "goes over a, which has no RDMA device"));
}

TEST_F(RnbdadmWay, CarrierAndMtu)
{
	const std::string eth1 = "/sys/class/net/eth1/";
	host.put(eth1 + "mtu", "9000");
	host.put(eth1 + "operstate", "up");
	host.put(eth1 + "carrier_down_count", "3");
	EXPECT_TRUE(has(explained(), "eth1: reachable, MTU 9000, carrier lost 3 times"))
	    << explained();
	host.routes["10.0.1.1"] = {0, "eth1", "", 1400};
	EXPECT_TRUE(has(explained(), "reachable, MTU 1400 on the way, 9000 here"));
	host.routes["10.0.1.1"] = {0, "eth1.5", "", 0};
	host.put("/sys/class/net/eth1.5/lower_eth1/x", "");
	host.put("/sys/class/net/eth1.5/mtu", "1500");
	EXPECT_TRUE(has(explained(), "reachable, MTU 1500 here, 9000 on the port mlx5_1:1"));
	host.routes.clear();
	host.put(eth1 + "operstate", "down");
	EXPECT_TRUE(has(explained(), "eth1, over which the way to 10.0.1.1 goes, has no carrier, "
				     "and has lost it 3 times so far"))
	    << explained();
}

TEST_F(RnbdadmWay, WhatAPathsQueuePairsDo)
{
	const rnbdadm::RdmaConnection mine = {"mlx5_0", "rtrs_core", "10.0.0.2", "10.0.0.1", "rts"};
	rnbdadm::RdmaConnection other = mine, of_others = mine, elsewhere = mine;
	other.state = "err";
	of_others.module = "nvme_rdma";
	elsewhere.destination = "10.0.0.9";
	host.pairs = {mine, mine, of_others, elsewhere};
	EXPECT_TRUE(has(explained(), ", 3 requests in flight, 2 queue pairs: rts\n"))
	    << explained();
	host.pairs.push_back(other);
	EXPECT_TRUE(has(explained(), ", 3 queue pairs: 1 err, 2 rts\n")) << explained();
	const std::string counters = "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/";
	host.put(counters + "out_of_sequence", "3");
	host.put(counters + "local_ack_timeout_err", "12");
	host.put(counters + "rx_read_requests", "1000");
	host.put(counters + "packet_seq_err", "0");
	EXPECT_TRUE(has(explained(), "note     port mlx5_0:1: has counted so far "
				     "local_ack_timeout_err 12, out_of_sequence 3\n"))
	    << explained();
	// What a cable of InfiniBand does wrong is counted for every adapter alike, beside that.
	const std::string of_port = "/sys/class/infiniband/mlx5_0/ports/1/counters/";
	host.put(of_port + "symbol_error", "7");
	host.put(of_port + "link_downed", "2");
	host.put(of_port + "VL15_dropped", "0");
	host.put(of_port + "port_rcv_data", "1000");
	host.put(of_port + "port_rcv_errors", "N/A (no PMA)");
	EXPECT_TRUE(has(explained(), "local_ack_timeout_err 12, out_of_sequence 3, link_downed 2, "
				     "symbol_error 7\n"))
	    << explained();
}

// What soft-RoCE of newer kernels does to a device by what it could not send.
TEST_F(RnbdadmWay, ADeviceThatConnectsNobody)
{
	const rnbdadm::RdmaQueuePair good = {"mlx5_1", 1, true, "rts"},
				     of_path = {"mlx5_1", 17, false, "err"};
	host.all_pairs = {good, of_path};
	EXPECT_FALSE(has(explained(), "queue pair for connects"));
	EXPECT_FALSE(has(run_line(host, "doctor").out, "queue pair for connects"));
	host.all_pairs[0].state = "err";
	EXPECT_TRUE(has(explained(), "problem  path ip:10.0.1.2@ip:10.0.1.1: the queue pair for "
				     "connects of mlx5_1 is in state err: nobody can connect "
				     "through it any more\n"))
	    << explained();
	Outcome o = run_line(host, "doctor");
	EXPECT_EQ(o.code, 12);
	EXPECT_TRUE(
	    has(o.out, "problem  rdma mlx5_1:1: its queue pair for connects is in state err"))
	    << o.out;
	EXPECT_TRUE(has(o.out, "rnbdadm hca remove mlx5_1 --force; rnbdadm hca add mlx5_1 eth1\n"))
	    << o.out;
	EXPECT_FALSE(has(o.out, "rdma mlx5_0:1: its queue pair"));
}

TEST_F(RnbdadmWay, WhatCouldNotBeConnectedSaysWhy)
{
	host.neighbours["10.0.1.9"] = "failed";
	host.errors["map_device"] = ETIMEDOUT;
	Outcome o = run_line(host, "map /dev/x -s new -p 10.0.1.9 -p 10.0.0.1");
	EXPECT_TRUE(has(o.err,
			"(ETIMEDOUT)\n  neighbour 10.0.1.9 on eth1: failed, nobody there answers "
			"to it; is that machine up"))
	    << o.err;
	EXPECT_FALSE(has(o.err, "neighbour 10.0.0.1"));
	// What the server has decided is not for the way.
	host.errors["map_device"] = ENOENT;
	EXPECT_FALSE(has(run_line(host, "map /dev/x -s new -p 10.0.1.9").err, "neighbour"));
	host.errors["add_path"] = EHOSTUNREACH;
	o = run_line(host, "path add store 10.0.2.2@10.0.2.1");
	EXPECT_TRUE(has(o.err, "this machine has no way to 10.0.2.1 from 10.0.2.2: ")) << o.err;
	host.neighbours["10.0.1.1"] = "failed";
	host.errors["reconnect"] = ETIMEDOUT;
	o = run_line(host, "recover store");
	EXPECT_TRUE(has(o.err, "neighbour 10.0.1.1 on eth1: failed")) << o.err;
}

TEST_F(RnbdadmWay, DevicesOfSoftware)
{
	host.put("/sys/class/net/eth2/mtu", "1500");
	EXPECT_EQ(run_line(host, "hca add rxe7 eth2").code, 0);
	EXPECT_EQ(host.loaded.back(), "rdma_rxe");
	EXPECT_EQ(host.writes.back(), "rxe7 on eth2");
	EXPECT_TRUE(has(run_line(host, "hca list").out, "rxe7"));
	EXPECT_EQ(run_line(host, "hca add rxe7 eth2").code, 5);
	EXPECT_TRUE(has(run_line(host, "hca add rxe8 eht2").err, "did you mean 'eth2'"));
	EXPECT_EQ(run_line(host, "hca remove rxe9").code, 3);
	Outcome o = run_line(host, "hca remove mlx5_0");
	EXPECT_EQ(o.code, 6);
	EXPECT_TRUE(has(o.err, "paths go over mlx5_0: ip:10.0.0.2@ip:10.0.0.1 of session store"));
	EXPECT_EQ(run_line(host, "hca remove rxe7").code, 0);
	EXPECT_EQ(host.writes.back(), "no rxe7");
	host.hca_error = EINVAL;
	EXPECT_TRUE(has(run_line(host, "hca remove mlx5_0 --force").err, "it is hardware"));
	host.is_root = false;
	EXPECT_EQ(run_line(host, "hca remove rxe7").code, 8);
	host.is_root = true;
	std::size_t writes = host.writes.size();
	EXPECT_EQ(run_line(host, "hca remove rxe7 --dry-run").out, "remove RDMA device rxe7\n");
	EXPECT_EQ(host.writes.size(), writes);
	host.held["mlx5_0"] = {{"qp", 5}, {"cq", 3}, {"mr", 7}};
	EXPECT_TRUE(has(run_line(host, "hca list -c hca,queue_pairs,memory_regions -o csv").out,
			"mlx5_0,5,7\n"));
}

// The kernel of this machine itself: what every machine has.
TEST(RnbdadmNetlink, TheKernelAnswers)
{
	const rnbdadm::Host host;
	for (const char *own : {"127.0.0.1", "127.3.2.1"}) {
		const rnbdadm::Route route = host.route(own, "");
		EXPECT_EQ(route.error, 0) << own;
		EXPECT_EQ(route.netdev, "lo") << own;
		EXPECT_EQ(route.gateway, "") << own;
	}
	EXPECT_NE(host.route("127.0.0.1", "192.0.2.77").error, 0);
	EXPECT_EQ(host.route("no address", "").error, EINVAL);
	EXPECT_EQ(host.neighbour("lo", "192.0.2.77"), "");
	EXPECT_EQ(host.neighbour("nothere", "192.0.2.77"), "");
	host.rdma_connections();
	host.rdma_counts();
}
