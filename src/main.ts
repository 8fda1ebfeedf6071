// Arguments in, exit code out; loads exactly one command.

// The very first statement: without a handler this signal opens the runtime's debugger, from which
// memory can be read. Hence nothing is imported statically here.
process.on("SIGUSR1", () => {});

const { findOwnModules } = await import("./system/own-modules.ts");
findOwnModules();

const [command, ...rest] = process.argv.slice(2);
const helped = command === "help" && rest[0] === "server"; // it knows its own flags
if (command === "server" || helped) {
  const { runDaemon } = await import("./daemon/run.ts");
  const args = helped ? ["--help"] : rest;
  // Whatever is still open must not keep a server alive that has sealed.
  process.exit(await runDaemon(args, process.env));
} else {
  const { runCli } = await import("./cli/run.ts");
  const { env, stdin, stdout, stderr } = process;
  const onSignal = (name: NodeJS.Signals, call: () => void) => {
    process.on(name, call);
    return () => void process.off(name, call);
  };
  const onInterrupt = (call: () => void) => onSignal("SIGINT", call);
  const io = { env, stdin, stdout, stderr, onInterrupt, onSignal };
  process.exitCode = await runCli(process.argv.slice(2), io);
}
