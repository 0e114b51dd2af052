// SPDX-License-Identifier: GPL-2.0
#include "user.hh"

#include "threads.hh"

using namespace cxxrt;

extern "C" {
int rtrs_client_start();
void rtrs_client_stop();
}

namespace fake {

void Io::prepare(u32 slot, bool read)
{
	sg_init_one(sg, page, sizeof(page));
	request.dir = read ? RTRS_READ : RTRS_WRITE;
	request.slot = slot;
	request.msg = &message;
	request.msg_len = sizeof(message);
	request.sg = sg;
	request.nr_sg = 1;
	request.data_len = sizeof(page);
	request.priv = this;
	request.done = done;
	status = 1;
}

void Io::prepare_empty(u32 slot)
{
	prepare(slot, false);
	request.nr_sg = 0;
	request.data_len = 0;
}

int Io::submit(rtrs_clt *session, bool more)
{
	request.more = more;
	__atomic_add_fetch(&submitted, 1u, __ATOMIC_SEQ_CST);
	const int code = rtrs_clt_submit(session, &request);
	if (code)
		__atomic_sub_fetch(&submitted, 1u, __ATOMIC_SEQ_CST);
	return code;
}

void Io::done(void *priv, int status, io_comp_batch *batch, u64)
{
	Io &io = *static_cast<Io *>(priv);
	io.status = status;
	io.together += batch != nullptr;
	io.open_at_end += Fabric::now->open_regions(io.page);
	io.sent_at_end += Fabric::now->sending(io.page);
	if (io.at_end)
		io.at_end(io);
	__atomic_add_fetch(&io.ended, 1u, __ATOMIC_SEQ_CST);
	io.changed.wake_all();
}

Status Io::wait()
{
	return changed.wait_for(kunit_testing::kLong, [this] {
		return ends() >= __atomic_load_n(&submitted, __ATOMIC_SEQ_CST);
	});
}

void Client::link_event(void *priv, rtrs_clt_event event)
{
	auto *self = static_cast<Client *>(priv);
	(event == RTRS_CLT_DISCONNECTED ? self->links_lost : self->links_back)++;
}

Result<Box<Client>> Client::create(u32 paths, const Options &options)
{
	Box<Client> c = TRY(make_box<Client>(GFP_KERNEL));
	for (Box<Io> &io : c->ios_)
		io = TRY(make_box<Io>(GFP_KERNEL));
	c->fabric = TRY(Fabric::create());
	c->fabric->fences = options.fences;
	c->fabric->send_room = options.send_room;
	c->fabric->gather = options.gather;
	c->fabric->device.ibdev->attrs.max_qp_wr = static_cast<int>(options.queue);
	c->fabric->device.ibdev->attrs.max_mr_size = options.max_mr_size;
	c->fabric->device.ibdev->attrs.page_size_cap = options.page_sizes;
	c->fabric->device.replays_local_wrs = options.soft_roce;
	TRY(Status::from_code(rtrs_client_start()));
	c->started_ = true;

	rtrs_addr_pair pairs[kPaths] = {};
	for (u32 i = 0; i < paths; i++) {
		auto &to = reinterpret_cast<sockaddr_in &>(pairs[i].dst);
		to.sin_family = AF_INET;
		to.sin_addr.s_addr = cpu_to_be32(0x0a000001 + i);
		to.sin_port = cpu_to_be16(1234);
	}
	rtrs_clt_params params{};
	params.name = "kunit";
	params.paths = pairs;
	params.nr_paths = paths;
	params.port = 1234;
	params.reconnect_delay = options.reconnect_delay;
	params.max_reconnects = -1;
	params.nr_queues = options.queues;
	params.priv = c.get();
	params.link_event = link_event;
	TRY(Status::from_code(rtrs_clt_open(&params, &c->session)));
	rtrs_clt_query(c->session, &c->attrs);
	return c;
}

void Client::close()
{
	if (rtrs_clt *s = exchange(session, static_cast<rtrs_clt *>(nullptr)))
		rtrs_clt_close(s);
}

Client::~Client()
{
	close();
	if (started_)
		rtrs_client_stop();
}

long Client::write(const char *name, const char *text)
{
	char path[96];
	scnprintf(path, sizeof(path), "/sys/class/rtrs-client/kunit/%s", name);
	file *f = filp_open(path, O_WRONLY, 0);
	if (IS_ERR(f))
		return PTR_ERR(f);
	loff_t at = 0;
	const long n = kernel_write(f, text, strlen(text), &at);
	filp_close(f, nullptr);
	return n;
}

} // namespace fake
