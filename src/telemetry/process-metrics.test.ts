import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createMetrics } from './metrics.ts'
import { watchProcess } from './process-metrics.ts'

describe('process metrics', () => {
  it('describe this process', async () => {
    const metrics = createMetrics()
    const stop = watchProcess(metrics, { worker: '3', interval: 60 })
    const values = () =>
      new Map(
        [...metrics.read()].flatMap(({ definition, series }) =>
          [...series].map((each) => [
            `${definition.name.replace('portcullis_', '')} ${each.labels.join(' ')}`,
            'value' in each ? each.value : Number.NaN,
          ]),
        ),
      )
    let reported = values()
    for (
      let i = 0;
      i < 50 && !((reported.get('event_loop_delay_seconds 3 max') ?? 0) > 0.02);
      i++
    ) {
      await sleep(30)
      const until = performance.now() + 50
      while (performance.now() < until) Math.sqrt(until)
      await sleep(10)
      reported = values()
    }
    stop()
    const within = (name: string, low: number, high: number) => {
      const value = reported.get(name) ?? Number.NaN
      assert.ok(value >= low && value <= high, `${name} is ${value}`)
    }
    const { rss, heapUsed } = process.memoryUsage()
    within('process_resident_memory_bytes 3', rss / 2, rss * 2)
    within('process_heap_used_bytes 3', heapUsed / 4, heapUsed * 4)
    within('process_heap_size_bytes 3', heapUsed / 2, 4e9)
    within('process_external_memory_bytes 3', 1, 4e9)
    within('process_cpu_seconds_total 3 user', 0.01, 3600)
    within('process_start_time_seconds 3', Date.now() / 1000 - 3600, Date.now() / 1000)
    within('event_loop_delay_seconds 3 max', 0.02, 2)
    within('event_loop_utilization_ratio 3', 0, 1)
    if (process.platform !== 'linux') return
    within('process_open_fds 3', 3, 10_000)
    within('process_max_fds 3', 64, 2 ** 31)
  })
})
