// SPDX-License-Identifier: GPL-2.0
// Block requests of a client (protocol D.3, E.2, G.2). No step allocates memory: bio and vector lie
// in the area of the request's slot.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/types.hh>
#include <rtrs/rtrs.h>

namespace rnbd::server {

class Session;

cxxrt::usize io_area_size();

// Takes an IO message and answers it, now if it is refused, else when the device is done with it.
// Sleeps only where the block layer does to get a request.
void start_io(Session &session, const rtrs_srv_request &request);

} // namespace rnbd::server
