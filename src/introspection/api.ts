// The endpoints of introspection: metrics, OpenAPI, the host, running requests, reload.

import { showTime } from "@holdfast/shared/text/time";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { JSON_TYPE, out } from "@holdfast/shared/endpoint/output";
import { wire } from "@holdfast/shared/endpoint/wire";
import type { Introspection } from "./introspection.ts";

const endpoint = endpointsOf<Introspection>();

export const introspectionApi = [
  endpoint({
    name: "readMetrics",
    method: "GET",
    path: "/sys/metrics",
    summary: "Read the numbers about this node",
    description:
      "Every node answers for itself. A listener can let everybody read them without a token.",
    access: access.capabilityUnlessOpen("metrics", "read"),
    forMonitoring: true,
    rootOnly: true,
    answers: "always", // a sealed node says so here, where the listener is open
    runs: "here",
    family: "bare",
    input: {
      format: wire
        .query("format")
        .oneOf(["json", "prometheus", ""], "prometheus for its text format 0.0.4, json otherwise")
        .default("json"),
    },
    output: out.text(
      [JSON_TYPE, "text/plain"],
      "Metrics in the text format of Prometheus, or as JSON",
    ),
    handler: (room, { format }) => room.metrics(format === "prometheus" ? format : "json"),
  }),

  endpoint({
    name: "readOpenapi",
    method: "GET",
    path: "/sys/internal/specs/openapi",
    summary: "Read the OpenAPI document of this server",
    description:
      "It holds what the caller may see: without a token the paths that need none, with one also " +
      "those that the token's policies reach.",
    access: access.openWithCaller,
    family: "bare",
    input: {
      generic: wire
        .query("generic_mount_paths")
        .boolean("Show the paths of a mount type once instead of those of each mount")
        .default(false),
    },
    output: out.objectText("OpenAPI 3.0.3 document"),
    handler: (room, { generic }, context) =>
      room.openapi(context.caller, context.namespace, generic),
  }),

  endpoint({
    name: "listUsableNamespaces",
    method: "GET",
    path: "/sys/internal/ui/namespaces",
    summary: "List the child namespaces that the caller may use",
    access: access.openWithCaller,
    input: {},
    output: out.object({ keys: out.list(out.string("Name with a slash"), "Child namespaces") }),
    handler: async (room, _, context) => ({
      keys: await room.usableChildren(context.caller, context.namespace),
    }),
  }),

  endpoint({
    name: "readSanitizedConfig",
    method: "GET",
    path: "/sys/config/state/sanitized",
    summary: "Read the configuration in force, without secrets",
    access: access.capability,
    rootOnly: true,
    runs: "here",
    input: {},
    output: out.anyObject("Configuration of this node"),
    handler: (room) => room.options.configuration(),
  }),

  endpoint({
    name: "reloadConfig",
    method: "POST",
    path: "/sys/config/reload/:what",
    summary: "Read a part of the configuration again",
    description: "What cannot be read stays as it was.",
    access: access.sudo,
    belongs: "local",
    rootOnly: true,
    runs: "here",
    input: { what: wire.path("what").string("Which part, such as listener") },
    output: out.nothing,
    async handler(room, { what }) {
      await room.options.reload(what);
      return undefined;
    },
  }),

  endpoint({
    name: "readHaStatus",
    method: "GET",
    path: "/sys/ha-status",
    summary: "Read which nodes the cluster has",
    access: access.capability,
    input: {},
    output: out.object({
      nodes: out.list(
        out.object({
          hostname: out.string("Name of its host"),
          api_address: out.string("Where clients reach it"),
          cluster_address: out.string("Where nodes reach it; empty for a node on its own"),
          active_node: out.boolean("Whether it is the active one"),
          last_echo: out.nullable(out.time("When the active node last heard of it")),
          version: out.string("Version of its server"),
          performance_standby: out.boolean("Whether it answers reads as a standby"),
        }),
        "Nodes of the cluster",
      ),
    }),
    handler(room) {
      const { hostname, apiAddress, clusterAddress, active, version } = room.options.node();
      return {
        nodes: [
          {
            hostname,
            api_address: apiAddress,
            cluster_address: clusterAddress,
            active_node: active,
            last_echo: null,
            version,
            performance_standby: false,
          },
        ],
      };
    },
  }),

  endpoint({
    name: "readHostInfo",
    method: "GET",
    path: "/sys/host-info",
    summary: "Read what this node runs on",
    access: access.capability,
    rootOnly: true,
    runs: "here",
    input: {},
    output: out.object({
      host: out.object({
        hostname: out.string("Name of the host"),
        platform: out.string("Operating system"),
        release: out.string("Its version"),
        arch: out.string("Kind of processor"),
        uptime_seconds: out.number("Since the host started"),
      }),
      cpu: out.object({
        count: out.integer("Processors this process may use"),
        load_average: out.list(out.number("Load"), "Over 1, 5 and 15 minutes"),
      }),
      memory: out.object({
        total_bytes: out.integer("Of the host"),
        free_bytes: out.integer("Of the host"),
      }),
      disk: out.object({
        free_bytes: out.nullable(out.integer("Where data is kept; null when it is in memory")),
      }),
      process: out.object({
        pid: out.integer("Number of the process"),
        runtime: out.string("What it runs on"),
        uptime_seconds: out.number("Since the process started"),
        resident_bytes: out.integer("Memory of the process"),
        heap_used_bytes: out.integer("Of it on the heap"),
        cpu_seconds: out.number("Processor time since the start"),
      }),
    }),
    handler(room) {
      const { host, runtime, freeBytes } = room.options;
      const [machine, process] = [host(), runtime()];
      return {
        host: {
          hostname: machine.hostname,
          platform: machine.platform,
          release: machine.release,
          arch: machine.arch,
          uptime_seconds: machine.uptimeSeconds,
        },
        cpu: { count: machine.cpus, load_average: machine.loadAverage },
        memory: { total_bytes: machine.memoryTotalBytes, free_bytes: machine.memoryFreeBytes },
        disk: { free_bytes: freeBytes() },
        process: {
          pid: machine.pid,
          runtime: machine.runtime,
          uptime_seconds: process.uptimeSeconds,
          resident_bytes: process.residentBytes,
          heap_used_bytes: process.heapUsedBytes,
          cpu_seconds: process.cpuUser + process.cpuSystem,
        },
      };
    },
  }),

  endpoint({
    name: "readInFlight",
    method: "GET",
    path: "/sys/in-flight-req",
    summary: "Read which requests are being answered",
    access: access.capability,
    rootOnly: true,
    runs: "here",
    input: {},
    output: out.mapOf(
      out.object({
        start_time: out.time("When it came in"),
        request_method: out.string("Verb"),
        endpoint: out.string("Operation id; empty until it is known"),
        client_remote_address: out.string("Where it came from"),
      }),
      "Running requests by their id",
    ),
    handler: (room) =>
      Object.fromEntries(
        room.options.inFlight().map(({ id, began, verb, endpoint: name, address }) => [
          id,
          {
            start_time: showTime(began),
            request_method: verb,
            endpoint: name,
            client_remote_address: address,
          },
        ]),
      ),
  }),

  endpoint({
    name: "listVersionHistory",
    method: "LIST",
    path: "/sys/version-history",
    summary: "List the versions that have run on this storage",
    access: access.capability,
    input: {},
    output: out.keys("Versions in the order in which they were installed"),
    handler(room) {
      const versions = room.options.versions.list();
      return {
        keys: versions.map(({ version }) => version),
        key_info: Object.fromEntries(
          versions.map(({ version, previous, installed, buildDate }) => [
            version,
            { previous_version: previous, timestamp_installed: installed, build_date: buildDate },
          ]),
        ),
      };
    },
  }),
];
