import '../parts/usable-language.ts'
import 'uplot/dist/uPlot.min.css'
import {
  Group,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Text,
  Title,
  useComputedColorScheme,
} from '@mantine/core'
import { useEffect, useMemo, useRef, useState } from 'react'
import UPlot from 'uplot'
import type { Usage } from '../api/shapes.ts'
import { useApi } from '../api/use-api.ts'
import { Problem } from '../parts/states.tsx'
import { chartOf, type Measure, totalOf } from './usage-series.ts'

const SPANS = [
  { label: 'Hour', value: '1' },
  { label: 'Day', value: '24' },
  { label: 'Week', value: '168' },
  { label: 'Month', value: '744' },
]

/** Charts the token usage and cost of model calls over time. */
export function UsageCharts() {
  const [hours, setHours] = useState('24')
  // Fixed until the range changes: an open page extends the chart instead of restarting it.
  const since = useMemo(
    () => new Date(Date.now() - Number(hours) * 3_600_000).toISOString(),
    [hours],
  )
  const { data, problem, reload } = useApi<Usage>(
    `/api/llm/usage?since=${encodeURIComponent(since)}`,
    { every: 20_000 },
  )
  return (
    <section className="box" aria-label="Usage over time">
      <Stack gap="sm">
        <Group justify="space-between">
          <Title order={2} size="h4">
            Usage over time
          </Title>
          <SegmentedControl
            aria-label="Time range"
            data={SPANS}
            value={hours}
            onChange={setHours}
          />
        </Group>
        {problem === undefined ? null : <Problem problem={problem} retry={reload} />}
        {data === undefined ? null : <Charts usage={data} />}
      </Stack>
    </section>
  )
}

function Charts({ usage }: { readonly usage: Usage }) {
  const source =
    usage.from === 'database'
      ? 'Usage of all replicas, from the database.'
      : 'Usage of this gateway since it started, for at most one day: no database is configured.'
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <Chart usage={usage} measure="cost" title="Cost in US dollars" digits={4} />
        <Chart usage={usage} measure="tokens" title="Tokens" digits={0} />
      </SimpleGrid>
      <Text size="sm" c="dimmed">
        {source}
      </Text>
    </>
  )
}

interface ChartProps {
  readonly usage: Usage
  readonly measure: Measure
  readonly title: string
  readonly digits: number
}

const COLORS = {
  light: ['#3b5bdb', '#b02525', '#2b7a3d', '#a35200', '#7a3db8', '#0b7285'],
  dark: ['#91a7ff', '#ffa8a8', '#8ce99a', '#ffc078', '#d0a9f5', '#66d9e8'],
} as const

/** Draws one line for each of the most used models, and one for the rest. */
function Chart({ usage, measure, title, digits }: ChartProps) {
  const host = useRef<HTMLDivElement>(null)
  const scheme = useComputedColorScheme('light')
  const total = new Intl.NumberFormat('en', { maximumFractionDigits: digits }).format(
    totalOf(usage, measure),
  )
  useEffect(() => {
    const parent = host.current
    if (parent === null) return
    const { names, rows } = chartOf(usage, measure, Date.now())
    const axis = scheme === 'dark' ? '#c3c8ce' : '#4d545c'
    const grid = { stroke: scheme === 'dark' ? '#3a3f45' : '#e3e6e9' }
    const made = new UPlot(
      {
        width: parent.clientWidth,
        height: 180,
        legend: { live: false },
        cursor: { show: false },
        axes: [
          { stroke: axis, grid, space: 80 },
          { stroke: axis, grid, size: 60 },
        ],
        scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
        series: [
          {},
          ...names.map((label, index) => ({
            label,
            stroke: COLORS[scheme][index % COLORS[scheme].length] as string,
            width: 2,
          })),
        ],
      },
      rows as UPlot.AlignedData,
      parent,
    )
    const watching = new ResizeObserver(() =>
      made.setSize({ width: parent.clientWidth, height: 180 }),
    )
    watching.observe(parent)
    return () => {
      watching.disconnect()
      made.destroy()
    }
  }, [usage, measure, scheme])
  return (
    <section aria-label={`${title} over time`}>
      <Title order={3} size="h5">
        {title}: {total}
      </Title>
      <div ref={host} aria-hidden="true" />
    </section>
  )
}
