// What the runtime and the machine say about this process: memory, processor, event loop, host. Only
// read when asked; the delay of the event loop is the one thing that is sampled all the time.

import {
  arch,
  availableParallelism,
  freemem,
  hostname,
  loadavg,
  platform,
  release,
  totalmem,
  uptime as hostUptime,
} from "node:os";
import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";

// A timer of the loop itself: 50 wakes a second, and delays of 50 ms (the limit for one synchronous
// stretch) are seen. Node's own default, 10 ms, doubles the cost for nothing.
const SAMPLE_MILLIS = 20;

const NANOS = 1e9;
const MICROS = 1e6;
const MILLIS = 1e3;

export interface RuntimeReading {
  /** Seconds of processor time since the start. */
  readonly cpuUser: number;
  readonly cpuSystem: number;
  readonly residentBytes: number;
  readonly heapUsedBytes: number;
  readonly heapTotalBytes: number;
  readonly heapLimitBytes: number;
  /** Buffers and the like, outside the heap. */
  readonly externalBytes: number;
  readonly arrayBufferBytes: number;
  readonly uptimeSeconds: number;
  readonly activeResources: number;
  /** Share of the time since the start in which the event loop was busy. */
  readonly loopUtilization: number;
  /** Seconds by which the event loop was late, since the last reading; null while not sampled. */
  readonly loopDelay: LoopDelay | null;
}

export interface LoopDelay {
  readonly mean: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export interface HostReading {
  readonly hostname: string;
  readonly platform: string;
  readonly release: string;
  readonly arch: string;
  readonly cpus: number;
  readonly loadAverage: readonly number[];
  readonly memoryTotalBytes: number;
  readonly memoryFreeBytes: number;
  readonly uptimeSeconds: number;
  readonly pid: number;
  readonly runtime: string;
}

const RECENTLY_MILLIS = 250;

export class RuntimeStats {
  #since = { at: 0, utilization: performance.eventLoopUtilization() };
  #recently = 0;
  #delay: ReturnType<typeof monitorEventLoopDelay> | null = null;

  /** Begins to sample the delay of the event loop; keeps no process alive. */
  start(): void {
    if (this.#delay !== null) return;
    this.#delay = monitorEventLoopDelay({ resolution: SAMPLE_MILLIS });
    this.#delay.enable();
  }

  stop(): void {
    this.#delay?.disable();
    this.#delay = null;
  }

  /** Share of the last quarter of a second, or of the time since it was last read, in which the event loop was busy. */
  recently(): number {
    const now = performance.now();
    if (now - this.#since.at < RECENTLY_MILLIS) return this.#recently;
    const utilization = performance.eventLoopUtilization();
    this.#recently = performance.eventLoopUtilization(
      utilization,
      this.#since.utilization,
    ).utilization;
    this.#since = { at: now, utilization };
    return this.#recently;
  }

  read(): RuntimeReading {
    const memory = process.memoryUsage();
    const cpu = process.cpuUsage();
    return {
      cpuUser: cpu.user / MICROS,
      cpuSystem: cpu.system / MICROS,
      residentBytes: memory.rss,
      heapUsedBytes: memory.heapUsed,
      heapTotalBytes: memory.heapTotal,
      heapLimitBytes: getHeapStatistics().heap_size_limit,
      externalBytes: memory.external,
      arrayBufferBytes: memory.arrayBuffers,
      uptimeSeconds: process.uptime(),
      activeResources: process.getActiveResourcesInfo().length,
      loopUtilization: performance.eventLoopUtilization().utilization,
      loopDelay: this.#loopDelay(),
    };
  }

  host(): HostReading {
    return {
      hostname: hostname(),
      platform: platform(),
      release: release(),
      arch: arch(),
      cpus: availableParallelism(),
      loadAverage: loadavg(),
      memoryTotalBytes: totalmem(),
      memoryFreeBytes: freemem(),
      uptimeSeconds: hostUptime(),
      pid: process.pid,
      runtime: `node ${process.versions.node}`,
    };
  }

  #loopDelay(): LoopDelay | null {
    const delay = this.#delay;
    if (delay === null || delay.count === 0) return null;
    // What is sampled is the length of a whole period; what lies above it is the delay.
    const late = (nanos: number) => Math.max(0, nanos / NANOS - SAMPLE_MILLIS / MILLIS);
    const reading = {
      mean: late(delay.mean),
      p50: late(delay.percentile(50)),
      p99: late(delay.percentile(99)),
      max: late(delay.max),
    };
    delay.reset(); // otherwise the largest delay ever would hide all later ones
    return reading;
  }
}
