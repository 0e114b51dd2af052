// SPDX-License-Identifier: GPL-2.0
// Connection requests (protocol A.3, G.2).
//
// The id of a request belongs to the connection manager until its handler has returned; then to the
// request, with the work item that serves it (requests.hh), until Path::add_connection() has given
// it to a connection; then to the path. Before that point an error is answered by a reject, and the
// work item destroys the id. Behind it the path's close work does, whatever happens.
#include <cxxrt/log.hh>
#include <rtrs/pure/fence.hh>
#include <rtrs/server/module.hh>
#include <rtrs/server/neighbour.h>
#include <rtrs/server/server.hh>
#include <rtrs/server/trace.hh>

using namespace cxxrt;

namespace rtrs::server {
namespace {

// Proofs from there were wrong too often (protocol J.3, rule 5).
constexpr Error kTooManyFailures = Error::from_errno(EKEYREJECTED);

// The address in REQ's header is another host's (protocol A.2).
constexpr Error kForgedAddress = Error::from_errno(EADDRNOTAVAIL);

// An administrator has said that nothing listens there.
constexpr Error kNotServed = Error::from_errno(ECONNREFUSED);

void reject(rdma_cm_id *id, Error reason)
{
	const ConnectReply message = make_reject(reason);
	// If it fails, the peer learns it by a timeout.
	rdma_reject(id, &message, sizeof(message), kCmRejectConsumerDefined);
}

// As where no server listens.
void reject_as_absent(rdma_cm_id *id)
{
	rdma_reject(id, nullptr, 0, IB_CM_REJ_INVALID_SERVICE_ID);
}

Refusal kind_of(Error e)
{
	if (e == err::enxio)
		return Refusal::ConnectUnknown;
	if (e == err::eprotonosupport)
		return Refusal::ProofNeeded;
	if (e == kTooManyFailures)
		return Refusal::ProofLimit;
	if (e == kForgedAddress)
		return Refusal::AddressForged;
	if (e == kStarvedPath)
		return Refusal::PathStarved;
	if (e == err::eexist)
		return Refusal::ConnectDuplicate;
	if (e == err::ebusy || e == err::eusers || e == err::enomem)
		return Refusal::ConnectQuota;
	if (e == err::econnreset)
		return Refusal::ConnectMismatch;
	return Refusal::ConnectFailed;
}

// What in-tree clients know as a reason to try again; EBUSY would read as "wrong mode" to them.
Error on_the_wire(Error e, const ConnectRequestFields &fields)
{
	if (e == kStarvedPath)
		return fields.fences ? e : err::econnreset;
	return e == err::ebusy || e == kTooManyFailures || e == kForgedAddress ? err::econnreset
									       : e;
}

void report(const rdma_cm_id &id, Refusal kind, Error e)
{
	TextBuffer<RTRS_PAIR_TEXT> name;
	const PathEnds ends = PathEnds::of(id);
	rtrs_addr_print_pair(&ends.client, &ends.server, name.data(), RTRS_PAIR_TEXT);
	module_->refusals.count(kind);
	trace::refusal(name, kind, e.code());
	log_warning_limited(name.c_str(), "connection request refused: %s, error %d", to_text(kind),
			    e.code());
}

// The client writes the address in the header of its REQ, and it names the path and is what rules
// of addresses go by. Over RoCE v2 the GID, to which REP and all else goes, is an IP address: no
// other one than that may stand there. Elsewhere a GID tells nothing of an IP address.
bool is_forged(const rdma_cm_id &id)
{
	const sa_path_rec *path = id.route.path_rec;
	const sockaddr_storage &said = PathEnds::of(id).client;
	if (!path || path->rec_type != SA_PATH_REC_TYPE_ROCE_V2 || said.ss_family == AF_IB)
		return false;
	return __builtin_memcmp(endpoint_of(said).address, path->dgid.raw, sizeof(path->dgid.raw));
}

// Whether `listen` names where it came to. The client says that address. Over RoCE the connection
// manager takes none that is not one of the port by which the request came; over InfiniBand it is
// the client's word.
bool is_served(const rdma_cm_id &id)
{
	const AuthEndpoint here = endpoint_of(id.route.addr.src_addr);
	return module_->listen.with([&](const ListenRules &rules) {
		return rules.serves(HostAddress::of(here.address),
				    TextView::of(dev_name(&id.device->dev)));
	});
}

// Whether an answer would go out. The network layer keeps what soft-RoCE sends to a host of which
// it does not know the link address, for seconds, and so many packets stop the queue pair of the
// connection manager for all clients. Who has sent a request is known: the connection manager has
// just asked for that address. So such a request is in the name of another host. Adapters do not
// ask, and answer to where the request came from.
bool answer_goes_out(const rdma_cm_id &id)
{
	const sa_path_rec *path = id.route.path_rec;
	if (id.device->ops.driver_id != RDMA_DRIVER_RXE || !path ||
	    path->rec_type != SA_PATH_REC_TYPE_ROCE_V2)
		return true;
	const rdma_dev_addr &address = id.route.addr.dev_addr;
	return rtrs_neighbour_known(address.net, address.bound_dev_if, path->sgid.raw,
				    path->dgid.raw);
}

// For the end of a session.
constexpr u32 kLooks = 50;

// Newer in the circular order of 16-bit counters.
bool newer(u16 a, u16 b)
{
	return static_cast<s16>(static_cast<u16>(a - b)) > 0;
}

// What the client says; in words, if it is more than this server has room for. Who can do with
// fewer connections says so with the first, and gets so many (protocol J.5).
Result<ConnectRequestFields> parse_params(const rdma_conn_param &param)
{
	ConnectRequestFields fields =
	    TRY(parse_connect_request(ByteView(param.private_data, param.private_data_len)));
	const u32 most =
	    min_of(module_->limits.grant(fields.connection_count), kMaxPathConnections);
	if (!fields.cid.is_service() || fields.connection_count <= most)
		return fields;
	if (fields.fewer_connections) {
		fields.connection_count = static_cast<u16>(most);
		return fields;
	}
	log_warning_limited("server",
			    "a client wants %u connections for a path, at most %u are taken",
			    fields.connection_count, most);
	return err::econnreset;
}

} // namespace

// The connection manager's handler of REQ: it hands the request to a work item (requests_), and
// neither waits nor answers. The connection manager has one thread for all ids; an answer sent from
// here would have to leave before the id may end, and that thread would wait for it. ENOMEM makes
// the connection manager forget the request without an answer, and the client repeats it.
int Server::connect_request(rdma_cm_id *id, const rdma_cm_event &event)
{
	if (!answer_goes_out(*id)) {
		report(*id, Refusal::NeighbourUnknown, err::enomem);
		return err::enomem.code();
	}
	const Source source = source_of(*id);
	const Status s = requests_.take(id, event.param.conn, source, is_stranger(source));
	if (!s.ok())
		report(*id, Refusal::ConnectQuota, s.error());
	return s.code();
}

Status Server::serve(void *server, rdma_cm_id *id, const rdma_conn_param &request)
{
	if (!is_served(*id)) {
		report(*id, Refusal::AddressNotServed, kNotServed);
		reject_as_absent(id);
		return kNotServed;
	}
	const Result<ConnectRequestFields> fields = parse_params(request);
	if (!fields.ok()) {
		report(*id, Refusal::ConnectMalformed, fields.error());
		reject(id, fields.error());
		return fields.error();
	}
	const Status s = static_cast<Server *>(server)->greet(id, request, fields.value());
	if (!s.ok()) {
		report(*id, kind_of(s.error()), s.error());
		reject(id, on_the_wire(s.error(), fields.value()));
	}
	return s;
}

// cid 0 decides whether its attempt has to prove something; the others go where it went. Who
// offers nothing is never looked for among those who have to prove.
Status Server::greet(rdma_cm_id *id, const rdma_conn_param &request,
		     const ConnectRequestFields &fields)
{
	if (is_forged(*id))
		return kForgedAddress;
	if (!may_ask(*id, fields.cid))
		return kTooManyFailures;
	if (!fields.cid.is_service()) {
		const Status s = fields.authentication
				     ? unauthenticated_.connect(*this, id, request, fields)
				     : Status(err::enoent);
		return !s.ok() && s.error() == err::enoent ? connect_plain(id, request, fields) : s;
	}
	switch (server_answer(auth_policy(), rtrs_keys_able(), client_word(fields))) {
	case AuthChoice::Plain:
		return connect_plain(id, request, fields);
	case AuthChoice::Proof:
		return unauthenticated_.connect(*this, id, request, fields);
	case AuthChoice::Refuse:
		break;
	}
	return err::eprotonosupport;
}

Status Server::connect_plain(rdma_cm_id *id, const rdma_conn_param &request,
			     const ConnectRequestFields &fields)
{
	Box<Admitted> place;
	const auto connect = [&]() -> Status {
		const Ref<Session> session = TRY(find_or_create(fields, *id));
		// It may wait for that.
		if (fields.cid.is_service() && !place)
			place = TRY(admit_path(*id, fields));
		return session->connect(id, request, fields, place);
	};
	Status s = connect();
	// Whom the end of a session catches here, or who is its end, begins the next one. It is
	// found until who closes its last path has said so, which takes him no time.
	for (u32 i = 0; i < kLooks && !s.ok() && s.error() == kSessionEnded; i++) {
		if (i)
			(void)gone_.wait_for(1, [] { return false; });
		s = connect();
	}
	if (!s.ok() && s.error() == kSessionEnded)
		s = err::econnreset;
	return s;
}

// All decisions about one session's paths are made under its lock, so that no cid, address or
// tag is given twice.
//
// A path that joins a session without a proof is known only by the session's id, 128 random bits
// which travel in clear: paths of one client come from different addresses, so these prove nothing.
// What can be checked is checked later: a path becomes CONNECTED only under the session's own name,
// and each connection of a path must come from the same address and device as the first.
Status Session::connect(rdma_cm_id *id, const rdma_conn_param &request,
			const ConnectRequestFields &fields, Box<Admitted> &place)
{
	Ref<Path> path;
	{
		LockGuard held(lock_);
		TRY(enter_epoch(fields));
		path = Ref<Path>::share(TRY(find_or_create_path(*id, fields, place)));
	}
	return path->connect(id, request, fields);
}

// Protocol J.1. All paths of an earlier epoch are dead for the client, and requests on them given
// up, whether or not we have noticed: they close, which ends the session, and the new path belongs
// to the next one. An attempt that began before the latest epoch comes too late: requests that it
// must wait for were given up since.
Status Session::enter_epoch(const ConnectRequestFields &fields)
{
	if (!fields.fences)
		return {};
	if (paths_.empty())
		epoch_ = fields.epoch;
	if (later_epoch(epoch_, fields.epoch))
		return err::econnreset;
	epoch_ = fields.epoch;
	for (Path &path : paths_)
		if (path.is_of_older_epoch(epoch_))
			path.close();
	return {};
}

bool Path::is_of_older_epoch(u32 epoch) const
{
	return fences() && later_epoch(epoch, asked_.epoch);
}

Result<Path *> Session::find_or_create_path(const rdma_cm_id &id,
					    const ConnectRequestFields &fields,
					    Box<Admitted> &place)
{
	Path *known = find_path(fields.path);
	if (known) {
		if (!fields.cid.is_service() || !known->is_older_than(fields))
			return known;
		// The client begins anew, so the old attempt is dead whether or not we have
		// noticed. It closes while the new one connects.
		log_info_limited(known->name(), "replaced by a newer attempt");
		known->close();
	} else if (!fields.cid.is_service()) {
		// cid 0 comes first: its path failed meanwhile.
		return err::econnreset;
	}
	TRY(leave_quarantine(fields));

	const Place in_session = TRY(find_place(PathEnds::of(id)));
	last_serial_ = next_serial(last_serial_);
	Ref<Path> path =
	    TRY(Path::create(server_, id, fields, last_serial_, instance_, {}, cxxrt::move(place)));
	TRY(path->join(*this, in_session.tag));
	path->start_handshake_timer();
	// The list's reference; remove() drops it.
	Path *const added = path.release();
	enlist(*added, in_session);
	return added;
}

// EEXIST: a path of the same addresses is open; ECONNRESET: too many are on their way down.
Result<Session::Place> Session::find_place(const PathEnds &ends)
{
	Place place{};
	bool over = !paths_.empty();
	u32 dead = 0;
	for (Path &other : paths_) {
		if (other.closing())
			dead += other.connection_count();
		over = over && other.closing();
		if (!other.ends().same_hosts(ends))
			continue;
		if (!other.closing())
			return err::eexist;
		if (!other.hidden())
			place.predecessor = &other;
	}
	if (over)
		return kSessionEnded;
	const unsigned long tag = find_first_zero_bit(tags_, kMaxPathTags);
	if (tag == kMaxPathTags || dead > kDeadConnections)
		return err::econnreset;
	place.tag = {static_cast<u16>(tag)};
	return place;
}

void Session::enlist(Path &path, const Place &place)
{
	if (place.predecessor)
		path.succeeds(*place.predecessor);
	__set_bit(place.tag.value, tags_);
	paths_.push_back(path);
}

// What a connection request does at once, for who had to prove first who he is. The path's
// reference comes with it from the list of those.
Status Session::admit(Path &path)
{
	LockGuard held(lock_);
	TRY(enter_epoch(path.asked()));
	if (Path *known = find_path(path.id())) {
		if (!known->is_older_than(path.asked()))
			return err::econnreset;
		log_info_limited(known->name(), "replaced by a newer attempt");
		known->close();
	}
	// Serials of all sessions are of one series: should it come round, there is another one.
	for (const Path &other : paths_)
		if (other.serial() == path.serial())
			return kSessionEnded;
	const Place place = TRY(find_place(path.ends()));
	TRY(path.join(*this, place.tag));
	const bool goes_on = server_.promote(path);
	enlist(path, place);
	return goes_on ? Status() : Status(err::econnaborted);
}

bool Path::is_older_than(const ConnectRequestFields &fields) const
{
	return newer(fields.reconnect_count, asked_.reconnect_count);
}

Status Path::connect(rdma_cm_id *id, const rdma_conn_param &request,
		     const ConnectRequestFields &fields)
{
	cxxrt::LockGuard held(connect_lock_);
	Status s = closing() ? Status(err::econnreset) : Status();
	if (s.ok() && fields.cid.is_service() && !device_)
		s = open_device(id->device);
	if (s.ok())
		s = add_connection(id, request, fields);
	// A new path whose first connection was refused has no other. It ends like any path.
	if (!s.ok() && fields.cid.is_service() && is_unused())
		close();
	return s;
}

// A connection request that comes later sees that the path is closing.
void Path::await_connection_requests()
{
	cxxrt::LockGuard held(connect_lock_);
}

// Under connect_lock_.
Status Path::add_connection(rdma_cm_id *id, const rdma_conn_param &request,
			    const ConnectRequestFields &fields)
{
	if (state() != (exchange_ ? ServerPathState::Applying : ServerPathState::Connecting))
		return err::econnreset;
	if (fields.connection_count != asked_.connection_count ||
	    fields.reconnect_count != asked_.reconnect_count)
		return err::econnreset;
	if (exchange_ && (fields.authentication != asked_.authentication ||
			  fields.algorithms != asked_.algorithms))
		return err::econnreset;
	if (connections_[fields.cid.value])
		return err::econnreset;
	if (!device_ || id->device != device_.ibdev() || !ends_.same_hosts(PathEnds::of(*id)))
		return err::econnreset;

	Box<ServerConnection> box =
	    TRY(make_box<ServerConnection>(GFP_KERNEL, *this, fields.cid.value, wr_counters_));
	ServerConnection *con = box.get();
	TRY(server_.admission().add_connection(*admitted_, con->bytes()));
	// From here on the id is the connection's.
	if (Status s = con->adopt(id); !s.ok()) {
		server_.admission().give_back_connection(*admitted_, con->bytes());
		return s;
	}
	connections_[fields.cid.value] = cxxrt::move(box);
	if (fields.cid.is_service())
		heartbeat_handler_.con = con;

	con->set_peer_qp(request.qp_num);
	Status s = con->open();
	if (s.ok() && fields.cid.is_service())
		s = con->post_info_recv();
	if (s.ok())
		s = con->accept();
	if (!s.ok()) {
		report(*id, Refusal::ConnectFailed, s.error());
		reject(id, s.error());
		close();
	}
	return {};
}

} // namespace rtrs::server
