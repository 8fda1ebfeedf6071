// Calls to the kernel that no plugin needs and that others have broken out with. Runtimes that take images refuse none by
// themselves.

const REFUSED = [
  // what is mounted, and where the root is
  ["mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen"],
  ["fsconfig", "fsmount", "fspick", "mount_setattr", "quotactl", "quotactl_fd", "ustat", "sysfs"],
  // other processes, and namespaces
  ["ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "unshare", "setns"],
  // programs and memory in the kernel
  [
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
  ],
  [
    "init_module",
    "finit_module",
    "delete_module",
    "create_module",
    "kexec_load",
    "kexec_file_load",
  ],
  // its keys
  ["keyctl", "add_key", "request_key"],
  // the machine as a whole
  ["reboot", "swapon", "swapoff", "acct", "syslog", "vhangup", "sethostname", "setdomainname"],
  ["settimeofday", "stime", "clock_settime", "clock_settime64", "clock_adjtime", "adjtimex"],
  ["iopl", "ioperm", "vm86", "vm86old", "modify_ldt", "_sysctl", "uselib", "nfsservctl"],
  // files past their names
  ["name_to_handle_at", "open_by_handle_at", "lookup_dcookie", "fanotify_init"],
].flat();

/** Namespaces that a new process could begin. */
const NEW_NAMESPACES = [
  0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
];

const ARCHITECTURES: Readonly<Record<string, readonly string[]>> = {
  x64: ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
  arm64: ["SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"],
  riscv64: ["SCMP_ARCH_RISCV64"],
  ppc64: ["SCMP_ARCH_PPC64LE"],
};

const REFUSE = "SCMP_ACT_ERRNO";
const NOT_PERMITTED = 1;
const NOT_THERE = 38;

/** For the specification of a container; null for machines where we do not know how it is told. */
export function seccompFor(arch: string) {
  const architectures = ARCHITECTURES[arch];
  if (architectures === undefined) return null;
  return {
    defaultAction: "SCMP_ACT_ALLOW",
    architectures,
    syscalls: [
      { names: REFUSED, action: REFUSE, errnoRet: NOT_PERMITTED },
      ...NEW_NAMESPACES.map((flag) => ({
        names: ["clone"],
        action: REFUSE,
        errnoRet: NOT_PERMITTED,
        args: [{ index: 0, value: flag, valueTwo: flag, op: "SCMP_CMP_MASKED_EQ" }],
      })),
      // Its flags lie in memory, where no filter sees them: who hears that it is not there takes the other one.
      { names: ["clone3"], action: REFUSE, errnoRet: NOT_THERE },
    ],
  };
}
