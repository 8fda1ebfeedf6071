import assert from "node:assert/strict";
import { test } from "node:test";
import { environmentOf, envProblem } from "./environment.ts";

const SERVER = {
  PATH: "/opt/bin",
  HOME: "/home/of",
  LC_ALL: "C.UTF-8",
  https_proxy: "http://proxy:1",
  AWS_SECRET_ACCESS_KEY: "cloud",
  VAULT_TOKEN: "token",
  HOLDFAST_SEAL: "seal",
  NODE_OPTIONS: "--inspect",
  LD_PRELOAD: "/tmp/x.so",
  PATHS: "no",
  XPATH: "no",
};
const parts = {
  ours: SERVER,
  inherits: false,
  entry: ["REGION=north", "HOME=/of/the/entry"],
  protocol: { PLUGIN_CLIENT_CERT: "pem" },
  runtime: "/opt/node/bin/node",
};

test("case 139, T-H05: of the server's environment few variables reach a plugin", () => {
  assert.deepEqual(environmentOf(parts), {
    PATH: "/opt/node/bin:/opt/bin",
    HOME: "/of/the/entry",
    LC_ALL: "C.UTF-8",
    https_proxy: "http://proxy:1",
    REGION: "north",
    PLUGIN_CLIENT_CERT: "pem",
  });
  assert.deepEqual(environmentOf({ ...parts, ours: null }), {
    HOME: "/of/the/entry",
    REGION: "north",
    PLUGIN_CLIENT_CERT: "pem",
  });
  const all = environmentOf({ ...parts, inherits: true });
  assert.equal(all["VAULT_TOKEN"], "token");
  assert.equal(all["PLUGIN_CLIENT_CERT"], "pem", "what is the protocol's nobody replaces");
});

test("T-H05: what is the protocol's is as the server says, whatever the server's own environment or an entry has", () => {
  const theirs = { PLUGIN_CLIENT_CERT: "theirs", HOLDFAST_PLUGIN_RUN: "theirs" };
  const protocol = { PLUGIN_CLIENT_CERT: "pem", HOLDFAST_PLUGIN_RUN: "run" };
  const entry = Object.entries(theirs).map((pair) => pair.join("="));
  for (const variant of [
    { ...parts, protocol, inherits: true, ours: theirs },
    { ...parts, protocol, entry },
  ]) {
    const { PLUGIN_CLIENT_CERT, HOLDFAST_PLUGIN_RUN } = environmentOf(variant);
    assert.deepEqual({ PLUGIN_CLIENT_CERT, HOLDFAST_PLUGIN_RUN }, protocol);
  }
});

test("T-H05: what loaders, shells, runtimes and OpenSSL take code from is refused, and what says where to reach and whom to trust is not", () => {
  const refused =
    "LD_PRELOAD LD_AUDIT LDR_PRELOAD LIBPATH SHLIB_PATH _RLD_LIST DYLD_INSERT_LIBRARIES " +
    "GCONV_PATH GETCONF_DIR GLIBC_TUNABLES LOCPATH MALLOC_TRACE NIS_PATH NLSPATH TZDIR TMPDIR " +
    "HOSTALIASES LOCALDOMAIN RESOLV_HOST_CONF RES_OPTIONS " +
    "BASH_ENV ENV IFS SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND CDPATH GLOBIGNORE BASH_FUNC_ls " +
    "ZDOTDIR FPATH NULLCMD READNULLCMD TMPPREFIX " +
    "NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE NODE_COMPILE_CACHE NODE_TLS_REJECT_UNAUTHORIZED NODE_V8_COVERAGE " +
    "BUN_OPTIONS DENO_DIR PYTHONPATH PYTHONSTARTUP PYTHONINSPECT PYTHONUSERBASE PYTHONBREAKPOINT PYTHONWARNINGS " +
    "PERLLIB PERL5LIB PERL5OPT PERL5DB RUBYLIB RUBYOPT GEM_PATH BUNDLE_GEMFILE " +
    "JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS JAVA_HOME CLASSPATH " +
    "DOTNET_STARTUP_HOOKS DOTNET_ROOT CORECLR_PROFILER_PATH COR_PROFILER COMPlus_ReadyToRun MONO_PATH " +
    "ASPNETCORE_HOSTINGSTARTUPASSEMBLIES PHPRC PHP_INI_SCAN_DIR LUA_INIT LUA_CPATH_5_4 " +
    "ERL_FLAGS ELIXIR_ERL_OPTIONS TCLLIBPATH OPENSSL_CONF OPENSSL_MODULES OPENSSL_ENGINES";
  for (const name of refused.split(" ")) {
    assert.match(envProblem([`${name}=secret`]) ?? "", new RegExp(`${name} is not for plugins`));
  }
  for (const value of ["() { :; }; id", " () {", "()"]) {
    assert.match(envProblem([`HTTP_HOST=${value}`]) ?? "", /a shell would run it/);
  }
  const taken =
    "HTTPS_PROXY https_proxy NO_PROXY SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS NODE_ENV PYTHONUNBUFFERED " +
    "GODEBUG GOMEMLIMIT HOME TZ LANG LC_ALL ENVIRONMENT PATHS NODENAME JAVA LOCAL AWS_REGION VAULT_ADDR TEAM_PATH";
  for (const name of taken.split(" ")) assert.equal(envProblem([`${name}=x`]), null, name);
  assert.equal(envProblem(["A=f()", "B=(x)"]), null);
});

test("T-H05: what changes which code runs, is the protocol's or cannot be read is refused without its value", () => {
  assert.equal(envProblem(["A=", "B=x=y", "_c9=z"]), null);
  for (const [entry, says] of [
    ["LD_PRELOAD=secret", /LD_PRELOAD is not for plugins/],
    ["LD_ANYTHING=secret", /LD_ANYTHING is not for plugins/],
    ["NODE_OPTIONS=secret", /NODE_OPTIONS is not for plugins/],
    ["PATH=secret", /PATH is not for plugins/],
    ["PLUGIN_CLIENT_CERT=secret", /PLUGIN_CLIENT_CERT is set by the server/],
    ["HOLDFAST_PLUGIN_RUN=secret", /HOLDFAST_PLUGIN_RUN is set by the server/],
    ["secret", /variable 1 has no name/],
    ["=secret", /variable 1 has no name/],
    ["1A=secret", /the name of variable 1/],
    ["A B=secret", /the name of variable 1/],
    ["A=secret\0", /A holds a NUL/],
  ] as const) {
    const problem = envProblem([entry]) ?? "";
    assert.match(problem, says);
    assert.doesNotMatch(problem, /secret/);
  }
  assert.match(envProblem(["A=1", "A=2"]) ?? "", /A is there twice/);
  assert.match(envProblem(Array.from({ length: 129 }, (_, i) => `A${i}=`)) ?? "", /129 variables/);
  assert.match(envProblem([`A=${"x".repeat(70_000)}`]) ?? "", /there may be 65536/);
});
