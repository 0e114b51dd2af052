// SPDX-License-Identifier: GPL-2.0
// Device classes and the devices in them that exist for their sysfs directory.
//
// The files stand in the directory before user space hears of the device. As with SysfsDir,
// device and owner have separate memory: after reset() no method of the owner is called.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/lock.hh>
#include <cxxrt/probes.h>
#include <cxxrt/sysfs.hh>

namespace cxxrt {

namespace detail {
// 6.4: the kernel has a lock class for each class of devices, and wants no owner.
inline class_ *create_class(const LockClass &lock)
{
#if CXXRT_PROBE_class_create_by_name
	return class_create(lock.name);
#else
	return __class_create(THIS_MODULE, lock.name, lock.key);
#endif
}
} // namespace detail

class DeviceClass {
public:
	constexpr DeviceClass() = default;
	// The name is that of the lock class: lock_class<"name">(). EEXIST, ENOMEM. May sleep.
	static Result<DeviceClass> create(LockClass lock)
	{
		class_ *c = detail::create_class(lock);
		if (IS_ERR(c))
			return Error::from_code(PTR_ERR(c));
		return DeviceClass(c);
	}
	DeviceClass(DeviceClass &&o) : class__(exchange(o.class__, static_cast<class_ *>(nullptr)))
	{
	}
	DeviceClass &operator=(DeviceClass &&o)
	{
		if (this != &o) {
			reset();
			class__ = exchange(o.class__, static_cast<class_ *>(nullptr));
		}
		return *this;
	}
	constexpr ~DeviceClass()
	{
		if (class__)
			reset();
	}
	// All devices of the class are gone.
	void reset()
	{
		if (class_ *c = exchange(class__, static_cast<class_ *>(nullptr)))
			class_destroy(c);
	}
	class_ *get() const { return class__; }

private:
	explicit DeviceClass(class_ *c) : class__(c) {}

	class_ *class__ = nullptr;
};

template <class T> struct DeviceFile {
	using Show = typename SysfsFile<T>::Show;
	using Store = typename SysfsFile<T>::Store;

	device_attribute attr;
	Show show;
	Store store;

	static constexpr DeviceFile read_only(const char *name, Show show);
	static constexpr DeviceFile read_write(const char *name, Show show, Store store);
};

// A file that is longer than a page, or no text.
template <class T> struct DeviceBlob {
	// Copies what there is from byte `from` on, `size` bytes at most; how many, 0 at the end.
	// What changes between two calls is for the reader to notice.
	using Read = usize (T::*)(u64 from, char *to, usize size);

	bin_attribute attr;
	Read read;

	static constexpr DeviceBlob read_only(const char *name, umode_t mode, Read read);
};

namespace detail {

struct ClassDeviceNode {
	device dev;
	void *owner;
	static void release(device *dev) { kfree(container_of(dev, ClassDeviceNode, dev)); }
};

template <class T> struct DeviceFileOps {
	static const DeviceFile<T> *row(device_attribute *a)
	{
		return container_of(a, DeviceFile<T>, attr);
	}
	static ssize_t show(device *dev, device_attribute *a, char *page)
	{
		SysfsText text(page);
		(static_cast<T *>(container_of(dev, ClassDeviceNode, dev)->owner)->*row(a)->show)(
		    text);
		return text.length();
	}
	static ssize_t store(device *dev, device_attribute *a, const char *text, size_t size)
	{
		T *owner = static_cast<T *>(container_of(dev, ClassDeviceNode, dev)->owner);
		SysfsCall call(&dev->kobj, &a->attr);
		const Status s = (owner->*row(a)->store)(sysfs_input(text, size), call);
		return s.ok() ? static_cast<ssize_t>(size) : s.code();
	}
};

template <class T> struct DeviceBlobOps {
	// The attribute is const from some kernel on.
	template <class Attribute>
	static ssize_t read(file *, kobject *kobj, Attribute *a, char *to, loff_t from, size_t size)
	{
		const device *dev = container_of(kobj, device, kobj);
		T *owner = static_cast<T *>(container_of(dev, ClassDeviceNode, dev)->owner);
		const auto *row =
		    container_of(static_cast<const bin_attribute *>(a), DeviceBlob<T>, attr);
		return static_cast<ssize_t>((owner->*row->read)(static_cast<u64>(from), to, size));
	}
};

} // namespace detail

template <class T>
constexpr DeviceBlob<T> DeviceBlob<T>::read_only(const char *name, umode_t mode, Read read)
{
	DeviceBlob b{};
	b.attr.attr.name = name;
	b.attr.attr.mode = mode;
	b.attr.read = &detail::DeviceBlobOps<T>::read;
	b.read = read;
	return b;
}

template <class T> constexpr DeviceFile<T> DeviceFile<T>::read_only(const char *name, Show show)
{
	DeviceFile f{};
	f.attr.attr.name = name;
	f.attr.attr.mode = 0444;
	f.attr.show = detail::DeviceFileOps<T>::show;
	f.show = show;
	return f;
}

template <class T>
constexpr DeviceFile<T> DeviceFile<T>::read_write(const char *name, Show show, Store store)
{
	DeviceFile f = read_only(name, show);
	f.attr.attr.mode = 0644;
	f.attr.store = detail::DeviceFileOps<T>::store;
	f.store = store;
	return f;
}

class ClassDevice {
public:
	constexpr ClassDevice() = default;
	// Registers device `name` with its files. announce() sends the "add" uevent, when the rest
	// of the directory is complete. EEXIST, ENOMEM. May sleep.
	template <class T, usize N>
	static Result<ClassDevice> create(const DeviceClass &cls, const char *name, T *owner,
					  const DeviceFile<T> (&files)[N])
	{
		ClassDevice device = TRY(create_empty(cls, name, owner));
		for (const DeviceFile<T> &f : files)
			TRY(Status::from_code(
			    sysfs_create_file(&device.node_->dev.kobj, &f.attr.attr)));
		return device;
	}
	// A further file, a static object. ENOMEM.
	template <class T> Status add(const DeviceBlob<T> &blob)
	{
		return Status::from_code(sysfs_create_bin_file(kobj(), &blob.attr));
	}
	// A device that only holds directories.
	static Result<ClassDevice> create_empty(const DeviceClass &cls, const char *name,
						void *owner = nullptr)
	{
		auto *node = static_cast<detail::ClassDeviceNode *>(
		    kzalloc(sizeof(detail::ClassDeviceNode), GFP_KERNEL));
		if (!node)
			return err::enomem;
		node->owner = owner;
		device_initialize(&node->dev);
		node->dev.class_ = cls.get();
		node->dev.release = detail::ClassDeviceNode::release;
		dev_set_uevent_suppress(&node->dev, 1);
		int code = dev_set_name(&node->dev, "%s", name);
		if (!code)
			code = device_add(&node->dev);
		if (code) {
			put_device(&node->dev);
			return Error::from_code(code);
		}
		return ClassDevice(node);
	}
	ClassDevice(ClassDevice &&o)
	    : node_(exchange(o.node_, static_cast<detail::ClassDeviceNode *>(nullptr)))
	{
	}
	ClassDevice &operator=(ClassDevice &&o)
	{
		if (this != &o) {
			reset();
			node_ = exchange(o.node_, static_cast<detail::ClassDeviceNode *>(nullptr));
		}
		return *this;
	}
	constexpr ~ClassDevice()
	{
		if (node_)
			reset();
	}

	void announce()
	{
		dev_set_uevent_suppress(&node_->dev, 0);
		kobject_uevent(&node_->dev.kobj, KOBJ_ADD);
	}
	// Removes the device; waits for running methods. May sleep.
	void reset()
	{
		if (auto *node = exchange(node_, static_cast<detail::ClassDeviceNode *>(nullptr))) {
			device_del(&node->dev);
			put_device(&node->dev);
		}
	}
	kobject *kobj() const { return &node_->dev.kobj; }
	explicit operator bool() const { return node_ != nullptr; }

private:
	explicit ClassDevice(detail::ClassDeviceNode *node) : node_(node) {}

	detail::ClassDeviceNode *node_ = nullptr;
};

} // namespace cxxrt
