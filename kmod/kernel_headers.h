/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's headers that this project needs beside those that cxxrt includes by itself. They
 * come to C++ code with <cxxrt/kernel.hh>.
 */
#include <rdma/ib.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>
#include <rdma/mr_pool.h>
#include <rdma/rdma_cm.h>
#include <rdma/rw.h>
