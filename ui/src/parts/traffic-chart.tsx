import './usable-language.ts'
import 'uplot/dist/uPlot.min.css'
import { Text, useComputedColorScheme } from '@mantine/core'
import { useEffect, useRef } from 'react'
import UPlot from 'uplot'
import type { MetricsSummary } from '../api/shapes.ts'

interface Sample {
  readonly time: number
  readonly requests: number
  readonly denied: number
}

/** Samples of this tab: the gateway reports totals, and the chart draws the differences. */
const samples: Sample[] = []
const KEPT = 900

export function TrafficChart({ metrics }: { readonly metrics: MetricsSummary | undefined }) {
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot>(undefined)
  const scheme = useComputedColorScheme('light')
  useEffect(() => {
    if (metrics === undefined) return
    const time = Date.now() / 1000
    const last = samples.at(-1)
    if (last !== undefined && time - last.time < 1) return
    const { requests, decisions } = metrics
    samples.push({ time, requests: requests.total, denied: decisions.byVerdict['denied'] ?? 0 })
    if (samples.length > KEPT) samples.shift()
    plot.current?.setData(rates())
  }, [metrics])
  useEffect(() => {
    const parent = host.current
    if (parent === null) return
    const axis = scheme === 'dark' ? '#c3c8ce' : '#4d545c'
    const grid = { stroke: scheme === 'dark' ? '#3a3f45' : '#e3e6e9' }
    const [all, denied] = scheme === 'dark' ? ['#91a7ff', '#ffa8a8'] : ['#3b5bdb', '#b02525']
    const made = new UPlot(
      {
        width: parent.clientWidth,
        height: 180,
        legend: { live: false },
        cursor: { show: false },
        axes: [
          // Shows the time without the date, at most every 80 pixels.
          { stroke: axis, grid, space: 80, values: (_, times) => times.map(clock) },
          { stroke: axis, grid, size: 44 },
        ],
        scales: { y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } },
        series: [
          {},
          { label: 'Requests per second', stroke: all, width: 2 },
          { label: 'Denied per second', stroke: denied, width: 2, dash: [6, 3] },
        ],
      },
      rates(),
      parent,
    )
    plot.current = made
    const watching = new ResizeObserver(() =>
      made.setSize({ width: parent.clientWidth, height: 180 }),
    )
    watching.observe(parent)
    return () => {
      watching.disconnect()
      made.destroy()
      plot.current = undefined
    }
  }, [scheme])
  const [, requests, denied] = rates().map((row) => row.at(-1) ?? 0)
  return (
    <div className="box">
      <div ref={host} aria-hidden="true" />
      <Text size="sm" c="dimmed">
        Since this page was opened. Now {(requests ?? 0).toFixed(1)} requests per second, of which{' '}
        {(denied ?? 0).toFixed(1)} denied.
      </Text>
    </div>
  )
}

function clock(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString(undefined, { hour12: false })
}

function rates(): [number[], number[], number[]] {
  const rows: [number[], number[], number[]] = [[], [], []]
  for (const [index, sample] of samples.entries()) {
    const before = samples[index - 1]
    if (before === undefined) continue
    const seconds = sample.time - before.time
    rows[0].push(sample.time)
    // A restarted gateway counts from 0.
    rows[1].push(Math.max(0, sample.requests - before.requests) / seconds)
    rows[2].push(Math.max(0, sample.denied - before.denied) / seconds)
  }
  return rows
}
