import { Group, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react'
import type { Counts, Decision, Diagnostic, Effective, MetricsSummary } from '../api/shapes.ts'
import { useApi } from '../api/use-api.ts'
import { useHealth } from '../health.ts'
import { DecisionRow } from '../parts/decision-row.tsx'
import { Diagnostics } from '../parts/diagnostics.tsx'
import { Empty, Loading, Page, Problem } from '../parts/states.tsx'
import { isOpen, Protection, Tag } from '../parts/tags.tsx'

const TrafficChart = lazy(() =>
  import('../parts/traffic-chart.tsx').then(({ TrafficChart }) => ({ default: TrafficChart })),
)

const PACE = 2_000

export function Overview() {
  const health = useHealth()
  const metrics = useApi<MetricsSummary>('/api/metrics/summary', { every: PACE })
  const denied = useApi<{ decisions: readonly Decision[] }>(
    '/api/decisions?verdict=denied&limit=5',
    { every: PACE },
  )
  return (
    <Page title="Overview" lead="Traffic, denials and guards of this gateway.">
      {metrics.problem === undefined ? null : (
        <Problem problem={metrics.problem} retry={metrics.reload} />
      )}
      {health.data !== undefined && !health.data.isReady ? (
        <div className="box box-bad">
          <Text fw={600}>Not ready: {health.data.detail}</Text>
        </div>
      ) : null}
      {metrics.data === undefined ? (
        <Loading label="Reading metrics" />
      ) : (
        <Numbers metrics={metrics.data} />
      )}
      <section aria-label="Traffic">
        <Title order={2} size="h4" mb="xs">
          Traffic
        </Title>
        <Suspense fallback={<Loading label="Loading the chart" />}>
          <TrafficChart metrics={metrics.data} />
        </Suspense>
      </section>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Guarding />
        <section aria-label="Newest denials">
          <Group justify="space-between" mb="xs">
            <Title order={2} size="h4">
              Newest denials
            </Title>
            <a href="/ui/decisions?verdict=denied">All denials</a>
          </Group>
          {denied.data?.decisions.length === 0 ? (
            <Empty title="No denials yet">
              Send a request that a rule denies; it appears here with the rule that decided and what
              it read.
            </Empty>
          ) : null}
          <div className="rows">
            {denied.data?.decisions.map((decision) => (
              <DecisionRow key={decision.id + decision.stage} decision={decision} />
            ))}
          </div>
        </section>
      </SimpleGrid>
      <Warnings />
    </Page>
  )
}

function Numbers({ metrics }: { readonly metrics: MetricsSummary }) {
  const { requests, decisions, authenticationFailures } = metrics
  return (
    <SimpleGrid cols={{ base: 2, sm: 4 }}>
      <Figure label="Requests" value={requests.total} />
      <Figure label="Denied" value={decisions.byVerdict['denied'] ?? 0} />
      <Figure label="Failed sign-ins" value={authenticationFailures} />
      <Figure label="Errors (5xx)" value={sumOf(requests.byStatus, /^5/)} />
    </SimpleGrid>
  )
}

function sumOf(counts: Counts, name: RegExp): number {
  const found = Object.entries(counts).filter(([key]) => name.test(key))
  return found.reduce((sum, [, count]) => sum + count, 0)
}

function Figure({ label, value }: { readonly label: string; readonly value: number }) {
  return (
    <div className="box">
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Text size="xl" fw={700}>
        {value.toLocaleString()}
      </Text>
    </div>
  )
}

/** Comes first, because it shows which routes anyone can reach. */
function Guarding() {
  const { data, problem, reload } = useApi<Effective>('/api/policies/effective')
  const routes = (data?.listeners ?? []).flatMap(({ gateway, listener, routes: all }) =>
    all.map((route) => ({
      ...route,
      at: gateway === listener ? gateway : `${gateway}/${listener}`,
    })),
  )
  const [open, guarded] = [true, false].map((isWanted) =>
    routes.filter(({ protection }) => isOpen(protection) === isWanted),
  ) as [typeof routes, typeof routes]
  return (
    <Part title="Guards" link={<a href="/ui/map">Open the map</a>}>
      {problem === undefined ? null : <Problem problem={problem} retry={reload} />}
      {data === undefined && problem === undefined ? <Loading label="Analyzing guards" /> : null}
      {data !== undefined && routes.length === 0 ? (
        <Empty title="No routes">Add a route to see what guards it.</Empty>
      ) : null}
      {open.length === 0 && routes.length > 0 ? (
        <Text>
          <Tag tone="good">All guarded</Tag> Every route denies some requests without credentials.
        </Text>
      ) : null}
      <Stack gap={6}>
        {[...open, ...guarded].slice(0, 12).map((route, index) => (
          <Group key={index} gap="xs">
            <Protection value={route.protection} />
            <Text fw={600} component="span">
              {route.route}
            </Text>
            <Text c="dimmed" size="sm" component="span">
              {route.at} {[...route.hostnames, ...(route.matches ?? [])].slice(0, 2).join(', ')}
            </Text>
          </Group>
        ))}
      </Stack>
    </Part>
  )
}

interface PartProps {
  readonly title: string
  readonly link?: ReactNode
  readonly children: ReactNode
}

function Part({ title, link, children }: PartProps) {
  return (
    <section aria-label={title}>
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h4">
          {title}
        </Title>
        {link}
      </Group>
      {children}
    </section>
  )
}

interface Linted {
  readonly findings: readonly Diagnostic[]
  readonly isComplete: boolean
}

function Warnings() {
  // The gateway lints its policies after each start and change; until then it shows earlier findings.
  const [isKnown, setKnown] = useState(false)
  const lint = useApi<Linted>('/api/lint', isKnown ? {} : { every: PACE })
  const isLooking = lint.data?.isComplete === false
  useEffect(() => setKnown(lint.data?.isComplete === true), [lint.data])
  const said = useApi<{ diagnostics: readonly Diagnostic[] }>('/api/diagnostics')
  const found = eachOnce(said.data?.diagnostics ?? [], lint.data?.findings ?? [])
  return (
    <Part title="Warnings">
      {isLooking ? <Loading label="The gateway is analyzing its policies" /> : null}
      {lint.problem === undefined ? null : <Problem problem={lint.problem} retry={lint.reload} />}
      {found.length === 0 && lint.data?.isComplete === true ? (
        <Text c="dimmed">No findings in the configuration and its policies.</Text>
      ) : null}
      <Diagnostics found={found} />
    </Part>
  )
}

/**
 * Removes duplicates: lint also reports the reader's diagnostics, some of them under its own code.
 * For a policy without effect, AZ009 is more detailed than PC0311.
 */
function eachOnce(
  said: readonly Diagnostic[],
  findings: readonly Diagnostic[],
): readonly Diagnostic[] {
  const isOverridden = findings.some(({ code }) => code === 'AZ009')
  const byPlace = new Map<string, Diagnostic>()
  for (const one of [...said, ...findings]) {
    const key = JSON.stringify([one.message, one.origin])
    const isToldBelow = isOverridden && one.code === 'PC0311'
    if (!isToldBelow && !byPlace.has(key)) byPlace.set(key, one)
  }
  return [...byPlace.values()]
}
