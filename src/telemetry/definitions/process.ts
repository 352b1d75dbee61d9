import { defineCounter } from '../counter.ts'
import type { MetricGroup } from '../definition.ts'
import { defineGauge, defineInfo } from '../gauge.ts'
import { label } from '../label.ts'
import { WORKER } from './labels.ts'

export const buildInfo = defineInfo({
  name: 'portcullis_build_info',
  help: 'Build information in labels; the value is always 1.',
  labels: [
    label('version', 'the release'),
    label('commit', 'the commit that it was built from'),
    label('node', 'the version of Node'),
  ],
})

export const workers = defineGauge({
  name: 'portcullis_workers',
  help: 'Running worker processes.',
  labels: [],
})

export const workerExits = defineCounter({
  name: 'portcullis_worker_exits_total',
  help: 'Worker processes that exited; a worker that crashed or could not apply the configuration is replaced.',
  labels: [label('outcome', 'how it exited', ['stopped', 'crashed', 'not-applied'])],
})

export const workerRestarts = defineCounter({
  name: 'portcullis_worker_restarts_total',
  help: 'Worker processes started in place of one that exited, at growing intervals if it keeps exiting.',
  labels: [],
})

export const internalErrors = defineCounter({
  name: 'portcullis_internal_errors_total',
  help: 'Internal errors of the gateway, each with a log line that shows where; should be 0.',
  labels: [
    label('callout', 'the operation that failed', [
      'request',
      'policy',
      'rule',
      'backend',
      'provider',
      'delivery',
      'response',
      'mirror',
      'body',
      'reply',
      'decision-record',
      'telemetry',
      'accept',
      'client-hello',
      'handshake',
      'stream',
      'connection',
      'timer',
      'swap',
      'admin',
      'process',
    ]),
  ],
})

export const processStartTime = defineGauge({
  name: 'portcullis_process_start_time_seconds',
  help: 'Start time of the process, in seconds since 1970.',
  labels: [WORKER],
  unit: 'seconds',
  merge: 'max',
})

export const processCpu = defineCounter({
  name: 'portcullis_process_cpu_seconds_total',
  help: 'CPU time spent.',
  labels: [WORKER, label('mode', 'where it was spent', ['user', 'system'])],
  unit: 'seconds',
})

export const processResidentMemory = defineGauge({
  name: 'portcullis_process_resident_memory_bytes',
  help: 'Resident memory of the process.',
  labels: [WORKER],
  unit: 'bytes',
})

export const processHeapUsed = defineGauge({
  name: 'portcullis_process_heap_used_bytes',
  help: 'JavaScript heap in use, including garbage that has not been collected yet.',
  labels: [WORKER],
  unit: 'bytes',
})

export const processHeapSize = defineGauge({
  name: 'portcullis_process_heap_size_bytes',
  help: 'Reserved JavaScript heap.',
  labels: [WORKER],
  unit: 'bytes',
})

export const processExternalMemory = defineGauge({
  name: 'portcullis_process_external_memory_bytes',
  help: 'Memory outside the JavaScript heap that is held by JavaScript objects, mainly buffers.',
  labels: [WORKER],
  unit: 'bytes',
})

export const processOpenFds = defineGauge({
  name: 'portcullis_process_open_fds',
  help: 'Open file descriptors; each connection is one. Linux only.',
  labels: [WORKER],
})

export const processMaxFds = defineGauge({
  name: 'portcullis_process_max_fds',
  help: 'Maximum number of open file descriptors. Linux only.',
  labels: [WORKER],
})

export const eventLoopDelay = defineGauge({
  name: 'portcullis_event_loop_delay_seconds',
  help: 'Delay of timers in the last 10 s, which is the time that a request may have waited for the process.',
  labels: [WORKER, label('statistic', 'quantile of the delays', ['p50', 'p99', 'max'])],
  unit: 'seconds',
  merge: 'max',
})

export const eventLoopUtilization = defineGauge({
  name: 'portcullis_event_loop_utilization_ratio',
  help: 'Share of the last 10 s in which the process was busy: 1 is a fully used core.',
  labels: [WORKER],
  unit: 'ratio',
  merge: 'max',
})

export const PROCESS: MetricGroup = {
  title: 'Process',
  metrics: [
    buildInfo,
    workers,
    workerExits,
    workerRestarts,
    internalErrors,
    processStartTime,
    processCpu,
    processResidentMemory,
    processHeapUsed,
    processHeapSize,
    processExternalMemory,
    processOpenFds,
    processMaxFds,
    eventLoopDelay,
    eventLoopUtilization,
  ],
}
