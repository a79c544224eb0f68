// Stands for PyTorch's process group of the Gloo backend: classes and functions with the names,
// virtual tables and threads of torch/csrc/distributed/c10d/ProcessGroupGloo.{hpp,cpp}, as far as
// the probe wraps them. Ranks meet in a file that all of them map. play() is the program; see
// glooactor.c.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "profwrap.h"

namespace at
{
struct TensorImpl {
    char before[152];
    int64_t numel;
    uint16_t dtype;
};
struct Tensor {
    TensorImpl *impl;
};
} // namespace at

namespace c10
{
namespace detail
{
template <class T> struct intrusive_target_default_null_type {
};
} // namespace detail
// Not trivial, so that it is passed and returned by its address, as PyTorch's is.
template <class T, class N = detail::intrusive_target_default_null_type<T>> class intrusive_ptr
{
  public:
    explicit intrusive_ptr(T *p = nullptr) : target(p)
    {
    }
    intrusive_ptr(const intrusive_ptr &other) : target(other.target)
    {
    }
    ~intrusive_ptr()
    {
    }
    T *get() const
    {
        return target;
    }

  private:
    T *target;
};
} // namespace c10

namespace c10d
{
struct Store {
};
struct AllreduceOptions {
};
struct BroadcastOptions {
    int64_t rootRank;
};
struct AllgatherOptions {
};
struct BarrierOptions {
};

class Work
{
  public:
    virtual ~Work()
    {
    }
    virtual bool wait(std::chrono::milliseconds timeout);
    std::mutex mutex;
    std::condition_variable changed;
    bool completed = false;
};

using Tensors = std::vector<at::Tensor>;

// As all ranks map it: how many have come to each meeting.
static std::atomic<int> *meetings;
enum { LAST_MEETING = 4095 };

class ProcessGroupGloo
{
  public:
    struct Options {
    };
    class AsyncWork : public Work
    {
      public:
        explicit AsyncWork(int meeting, int members) : at(meeting), of(members)
        {
        }
        static void execute(const c10::intrusive_ptr<AsyncWork> &work);
        void finishWorkGloo();
        int at, of;
    };
    class SendWork : public Work
    {
      public:
        bool wait(std::chrono::milliseconds timeout) override;
    };

    ProcessGroupGloo(const c10::intrusive_ptr<Store> &store, int rank, int size,
                     c10::intrusive_ptr<Options> options);
    virtual ~ProcessGroupGloo();
    virtual c10::intrusive_ptr<Work> broadcast(Tensors &tensors, const BroadcastOptions &);
    virtual c10::intrusive_ptr<Work> allreduce(Tensors &tensors, const AllreduceOptions &);
    virtual c10::intrusive_ptr<Work> allgather(std::vector<Tensors> &, Tensors &,
                                               const AllgatherOptions &);
    virtual c10::intrusive_ptr<Work> send(Tensors &tensors, int to, int tag);
    virtual c10::intrusive_ptr<Work> barrier(const BarrierOptions &);
    void enqueue(c10::intrusive_ptr<AsyncWork> work);

  private:
    c10::intrusive_ptr<Work> begin();
    void loop();
    int rank, size, next, ending = 0;
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<AsyncWork *> queue;
    std::thread thread;
};

class Reducer
{
  public:
    void finalize_backward();
    std::vector<Work *> begun;
};

bool Work::wait(std::chrono::milliseconds)
{
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return completed; });
    return true;
}

bool ProcessGroupGloo::SendWork::wait(std::chrono::milliseconds)
{
    return true;
}

// The first group of the process connects each rank to all others: it waits until all have come.
static void meet_all(int size)
{
    std::atomic<int> &here = meetings[LAST_MEETING];
    here++;
    while (here < size)
        usleep(1000);
}

// A member of the next group does not come.
static bool is_member_absent;

ProcessGroupGloo::ProcessGroupGloo(const c10::intrusive_ptr<Store> &, int r, int n,
                                   c10::intrusive_ptr<Options>)
    : rank(r), size(n)
{
    while (is_member_absent)
        pause();
    static int groups;
    if (!groups)
        meet_all(size);
    next = 1000 * groups++;
    thread = std::thread(&ProcessGroupGloo::loop, this);
}

ProcessGroupGloo::~ProcessGroupGloo()
{
    {
        std::lock_guard<std::mutex> lock(mutex);
        ending = 1;
    }
    changed.notify_all();
    thread.join();
}

void ProcessGroupGloo::loop()
{
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
        changed.wait(lock, [&] { return ending || !queue.empty(); });
        if (queue.empty())
            return;
        AsyncWork *work = queue.front();
        queue.erase(queue.begin());
        lock.unlock();
        AsyncWork::execute(c10::intrusive_ptr<AsyncWork>(work));
        lock.lock();
    }
}

void ProcessGroupGloo::AsyncWork::execute(const c10::intrusive_ptr<AsyncWork> &work)
{
    std::atomic<int> &here = meetings[work.get()->at];
    here++;
    while (here < work.get()->of)
        usleep(100);
    work.get()->finishWorkGloo();
}

void ProcessGroupGloo::AsyncWork::finishWorkGloo()
{
    std::lock_guard<std::mutex> lock(mutex);
    completed = true;
    changed.notify_all();
}

void ProcessGroupGloo::enqueue(c10::intrusive_ptr<AsyncWork> work)
{
    {
        std::lock_guard<std::mutex> lock(mutex);
        queue.push_back(work.get());
    }
    changed.notify_all();
}

c10::intrusive_ptr<Work> ProcessGroupGloo::begin()
{
    AsyncWork *work = new AsyncWork(next++, size);
    enqueue(c10::intrusive_ptr<AsyncWork>(work));
    return c10::intrusive_ptr<Work>(work);
}

c10::intrusive_ptr<Work> ProcessGroupGloo::broadcast(Tensors &, const BroadcastOptions &)
{
    return begin();
}

c10::intrusive_ptr<Work> ProcessGroupGloo::allreduce(Tensors &tensors, const AllreduceOptions &)
{
    if (tensors.empty())
        throw std::invalid_argument("ProcessGroupGloo::allreduce: requires non-empty tensor list");
    return begin();
}

c10::intrusive_ptr<Work> ProcessGroupGloo::allgather(std::vector<Tensors> &, Tensors &,
                                                     const AllgatherOptions &)
{
    return begin();
}

c10::intrusive_ptr<Work> ProcessGroupGloo::send(Tensors &, int, int)
{
    return c10::intrusive_ptr<Work>(new SendWork);
}

c10::intrusive_ptr<Work> ProcessGroupGloo::barrier(const BarrierOptions &)
{
    return begin();
}

void Reducer::finalize_backward()
{
    for (Work *work : begun)
        work->wait(std::chrono::milliseconds(0));
    begun.clear();
}
} // namespace c10d

using namespace c10d;

namespace
{
struct Probe {
    size_t size;
    void (*layout)(int numel, int type, const unsigned char *bytes, int n);
    void (*group)(const char *name, const int32_t *world, int size);
};

const Probe *probe()
{
    return static_cast<const Probe *>(dlsym(RTLD_DEFAULT, "profwrap_torch_v1"));
}

at::Tensor tensor(int64_t numel)
{
    auto *impl = new at::TensorImpl();
    impl->numel = numel;
    impl->dtype = 6;
    return at::Tensor{impl};
}

void await(const c10::intrusive_ptr<Work> &work)
{
    work.get()->wait(std::chrono::milliseconds(0));
}

ProcessGroupGloo *make_group(const char *name, const std::vector<int32_t> &members, int rank)
{
    if (probe() && name)
        probe()->group(name, members.data(), int(members.size()));
    return new ProcessGroupGloo(c10::intrusive_ptr<Store>(), rank, int(members.size()),
                                c10::intrusive_ptr<ProcessGroupGloo::Options>());
}

void tell_layout()
{
    unsigned char bytes[8] = {1, 1, 2, 4, 8, 2, 4, 8};
    if (probe())
        probe()->layout(152, 160, bytes, 8);
}

// One of each, by its virtual function.
void play_all(ProcessGroupGloo *group, int rank)
{
    Tensors thousand{tensor(1000)}, two{tensor(10), tensor(20)}, none;
    await(group->allreduce(thousand, AllreduceOptions()));
    await(group->allreduce(two, AllreduceOptions()));
    await(group->broadcast(thousand, BroadcastOptions{1}));
    std::vector<Tensors> out{{tensor(10), tensor(10)}};
    Tensors in{tensor(10)};
    await(group->allgather(out, in, AllgatherOptions()));
    await(group->barrier(BarrierOptions()));
    if (rank == 0)
        await(group->send(thousand, 1, 5));
    try {
        group->allreduce(none, AllreduceOptions());
        puts("no exception");
    } catch (const std::invalid_argument &problem) {
        puts(problem.what());
    }
    await(group->barrier(BarrierOptions())); // recorded as any other
}

// As DistributedDataParallel: `steps` backward passes of two buckets, rank `slow` later by 20 ms.
void play_steps(ProcessGroupGloo *group, int rank, int steps, int slow)
{
    Reducer reducer;
    Tensors bucket{tensor(100)};
    for (int i = 0; i < steps; i++) {
        usleep(2000);
        reducer.begun.push_back(group->allreduce(bucket, AllreduceOptions()).get());
        usleep(rank == slow ? 22000 : 2000);
        reducer.begun.push_back(group->allreduce(bucket, AllreduceOptions()).get());
        reducer.finalize_backward();
    }
}

// In each of three steps rank 1 comes later by 20 ms to the data of rank 0, which cannot leave
// before.
void play_root(ProcessGroupGloo *group, int rank)
{
    Tensors thousand{tensor(1000)};
    for (int i = 0; i < 3; i++) {
        profwrap_step(i);
        usleep(rank == 1 ? 22000 : 2000);
        await(group->broadcast(thousand, BroadcastOptions{0}));
    }
    profwrap_step(PROFWRAP_NO_STEP);
}

// Rank 1 never comes to the second operation.
void play_stuck(ProcessGroupGloo *group, int rank)
{
    Tensors thousand{tensor(1000)};
    await(group->allreduce(thousand, AllreduceOptions()));
    if (rank == 1)
        for (;;)
            pause();
    await(group->allreduce(thousand, AllreduceOptions()));
}

// Rank 0 makes one reduction more than the others.
void play_circle(ProcessGroupGloo *group, int rank)
{
    Tensors thousand{tensor(1000)};
    for (int i = 0; i < (rank == 0 ? 4 : 3); i++)
        await(group->allreduce(thousand, AllreduceOptions()));
}

// Rank 0 creates a group of the first `size` ranks; the others do not come.
void play_creation(ProcessGroupGloo *group, int rank, size_t size)
{
    await(group->barrier(BarrierOptions()));
    while (rank == 1)
        pause();
    is_member_absent = true;
    make_group("other 1", std::vector<int32_t>(size), rank);
}

// Two reductions and a barrier a time, of which rank 1 leaves out reduction 5 x 3 + 1; rank 0 waits
// alone at the end.
void play_skip(ProcessGroupGloo *group, int rank)
{
    Tensors thousand{tensor(1000)}, ten{tensor(10)};
    for (int i = 0; i < 8; i++) {
        await(group->allreduce(thousand, AllreduceOptions()));
        if (rank == 0 || i != 5)
            await(group->allreduce(ten, AllreduceOptions()));
        await(group->barrier(BarrierOptions()));
    }
    for (; rank == 1;)
        pause();
}
} // namespace

// `scenario`: all, steps, late (rank 1 comes 1.5 s later to the group), root, stuck, skip, circle,
// creation, part (creation of a group of a part), or plain (no group is announced, and no layout
// told).
extern "C" int play(const char *scenario, const char *path, int rank, int size)
{
    const int fd = open(path, O_RDWR | O_CREAT, 0600);
    const size_t bytes = (LAST_MEETING + 1) * sizeof(std::atomic<int>);
    if (fd < 0 || ftruncate(fd, off_t(bytes)))
        return 1;
    meetings = static_cast<std::atomic<int> *>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    const std::string what = scenario;
    std::vector<int32_t> world;
    for (int r = 0; r < size; r++)
        world.push_back(r);
    if (what != "plain")
        tell_layout();
    if (what == "late" && rank == 1)
        usleep(1500000);
    ProcessGroupGloo *group = make_group(what == "plain" ? nullptr : "default_pg 0", world, rank);
    if (what == "steps" || what == "late")
        play_steps(group, rank, 60, what == "steps" ? 1 : -1);
    else if (what == "root")
        play_root(group, rank);
    else if (what == "stuck")
        play_stuck(group, rank);
    else if (what == "circle")
        play_circle(group, rank);
    else if (what == "creation" || what == "part")
        play_creation(group, rank, what == "part" ? 1 : world.size());
    else if (what == "skip")
        play_skip(group, rank);
    else
        play_all(group, rank);
    delete group;
    return 0;
}
