import { readdir, readFileSync, stat } from 'node:fs'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import {
  eventLoopDelay,
  eventLoopUtilization,
  processCpu,
  processExternalMemory,
  processHeapSize,
  processHeapUsed,
  processMaxFds,
  processOpenFds,
  processResidentMemory,
  processStartTime,
} from './definitions/process.ts'
import type { Metrics } from './metrics.ts'

export interface ProcessMetricsOptions {
  /** Number of the worker, or `main`. */
  readonly worker: string
  /** Milliseconds over which delays are measured. */
  readonly interval?: number
}

/** Milliseconds between the timers whose delay is measured. */
const RESOLUTION = 20

/** Keeps the metrics of this process up to date until the returned function is called. */
export function watchProcess(metrics: Metrics, options: ProcessMetricsOptions): () => void {
  const { worker, interval = 10_000 } = options
  metrics
    .gauge(processStartTime)
    .at({ worker })
    .set(performance.timeOrigin / 1000)
  setMaxFds(metrics, worker)
  metrics.beforeRead(collectUsage(metrics, worker))

  const sampleLoop = sampleEventLoop(metrics, worker)
  const openFds = metrics.gauge(processOpenFds)
  const sample = () => {
    sampleLoop()
    countOpenFds((count) => openFds.at({ worker }).set(count))
  }
  sample()
  const timer = setInterval(sample, interval).unref()
  return () => {
    clearInterval(timer)
    sampleLoop.stop()
  }
}

function collectUsage(metrics: Metrics, worker: string): () => void {
  const user = metrics.counter(processCpu).at({ worker, mode: 'user' })
  const system = metrics.counter(processCpu).at({ worker, mode: 'system' })
  const resident = metrics.gauge(processResidentMemory).at({ worker })
  const heapUsed = metrics.gauge(processHeapUsed).at({ worker })
  const heapSize = metrics.gauge(processHeapSize).at({ worker })
  const external = metrics.gauge(processExternalMemory).at({ worker })
  return () => {
    const cpu = process.cpuUsage()
    user.follow(cpu.user / 1e6)
    system.follow(cpu.system / 1e6)
    const memory = process.memoryUsage()
    resident.set(memory.rss)
    heapUsed.set(memory.heapUsed)
    heapSize.set(memory.heapTotal)
    external.set(memory.external)
  }
}

/** Delay and utilization of the event loop since the last call. */
function sampleEventLoop(metrics: Metrics, worker: string): (() => void) & { stop: () => void } {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION })
  delays.enable()
  let last = performance.eventLoopUtilization()
  const delay = metrics.gauge(eventLoopDelay)
  const p50 = delay.at({ worker, statistic: 'p50' })
  const p99 = delay.at({ worker, statistic: 'p99' })
  const max = delay.at({ worker, statistic: 'max' })
  const utilization = metrics.gauge(eventLoopUtilization).at({ worker })
  const sample = () => {
    p50.set(lateness(delays.percentile(50)))
    p99.set(lateness(delays.percentile(99)))
    max.set(lateness(delays.max))
    delays.reset()
    const now = performance.eventLoopUtilization()
    utilization.set(performance.eventLoopUtilization(now, last).utilization)
    last = now
  }
  return Object.assign(sample, { stop: () => delays.disable() })
}

/** Node measures the time between two timers, in ns; without any timer, it reports huge numbers. */
function lateness(nanoseconds: number): number {
  const milliseconds = nanoseconds / 1e6 - RESOLUTION
  return milliseconds > 0 && milliseconds < 3.6e6 ? milliseconds / 1000 : 0
}

/** Since Linux 6.2, the size of this directory is their number; before, they have to be listed. */
function countOpenFds(then: (count: number) => void): void {
  stat(OPEN_FDS, (error, stats) => {
    if (error !== null) return
    if (stats.size > 0) then(stats.size)
    else readdir(OPEN_FDS, (failed, names) => failed === null && then(names.length))
  })
}

const OPEN_FDS = '/proc/self/fd'

function setMaxFds(metrics: Metrics, worker: string): void {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1]
    if (soft !== undefined) metrics.gauge(processMaxFds).at({ worker }).set(Number(soft))
  } catch {
    // Not Linux: the metric is not exposed.
  }
}
