import { Button, Group, Select, Stack, Switch, Text, TextInput } from '@mantine/core'
import { useEffect, useState } from 'react'
import type { ApiProblem } from '../api/client.ts'
import type { Decision } from '../api/shapes.ts'
import { followDecisions } from '../api/tail.ts'
import { useApi } from '../api/use-api.ts'
import { DecisionPage } from '../decisions/decision-page.tsx'
import { reasonOf } from '../decisions/reason.ts'
import { DecisionRow } from '../parts/decision-row.tsx'
import { Empty, Loading, Page, Problem } from '../parts/states.tsx'
import { replaceQuery, usePlace } from '../router.ts'

const SHOWN = 500
const STAGES = ['connection', 'traffic', 'backend', 'mcp', 'llm']
const VERDICTS = [
  { value: 'denied', label: 'Denied' },
  { value: 'allowed', label: 'Allowed' },
  { value: 'would-deny', label: 'Would deny (audit)' },
  { value: 'skipped', label: 'Skipped a provider' },
]
/** Filters that the API applies; the page itself searches the text. */
const FILTERS = ['verdict', 'policy', 'stage']

export function Decisions() {
  const { path } = usePlace()
  const [, id] = path.split('/')
  return id === undefined || id === '' ? <List /> : <DecisionPage id={decodeURIComponent(id)} />
}

function List() {
  const { query } = usePlace()
  const [isLive, setLive] = useState(true)
  const [text, setText] = useState('')
  const filters = new URLSearchParams(
    [...query].filter(([name, value]) => FILTERS.includes(name) && value !== ''),
  ).toString()
  const { data, problem, reload, isLoading } = useApi<{ decisions: readonly Decision[] }>(
    `/api/decisions?${filters}&limit=200`.replace('?&', '?'),
  )
  const { newest, lost } = useTail(filters, isLive)
  const all = merge(newest, data?.decisions ?? [])
  const shown = all.filter((one) => wordsOf(one).includes(text.toLowerCase()))
  const set = (name: string) => (value: string | null) => {
    const next = new URLSearchParams(query)
    if (value === null || value === '') next.delete(name)
    else next.set(name, value)
    replaceQuery(next)
  }
  return (
    <Page
      title="Decisions"
      lead="Decisions about requests and connections, newest first."
      actions={
        <Switch
          label="Live"
          checked={isLive}
          onChange={(event) => setLive(event.currentTarget.checked)}
        />
      }
    >
      <Group align="end">
        <Select
          label="Verdict"
          placeholder="Any"
          clearable
          data={VERDICTS}
          value={query.get('verdict')}
          onChange={set('verdict')}
          w={170}
        />
        <Select
          label="Stage"
          placeholder="Any"
          clearable
          data={STAGES}
          value={query.get('stage')}
          onChange={set('stage')}
          w={140}
        />
        <TextInput
          label="Policy"
          placeholder="route:api"
          value={query.get('policy') ?? ''}
          onChange={(event) => set('policy')(event.currentTarget.value)}
          w={160}
        />
        <TextInput
          label="Text"
          placeholder="Path, host, client, id …"
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          flex="1 1 12rem"
        />
      </Group>
      {problem === undefined ? null : <Problem problem={problem} retry={reload} />}
      {lost === undefined ? null : <Problem problem={lost} />}
      {isLoading && data === undefined ? <Loading label="Reading decisions" /> : null}
      {data !== undefined && shown.length === 0 ? (
        <Empty title="No matching decisions">
          {all.length > 0
            ? 'No decision contains this text. Clear the search to see all decisions.'
            : 'Denials are always recorded. Send a request that a rule denies, or remove a filter. With Live on, new decisions appear automatically.'}
        </Empty>
      ) : null}
      <Text size="sm" c="dimmed" role="status">
        {shown.length} shown{isLive ? ', new decisions appear automatically' : ''}
      </Text>
      <Stack gap={0} className="rows">
        {shown.slice(0, SHOWN).map((decision, index) => (
          <DecisionRow key={`${decision.id} ${decision.stage} ${index}`} decision={decision} />
        ))}
      </Stack>
      <Group>
        <Button variant="default" onClick={reload}>
          Read again
        </Button>
      </Group>
    </Page>
  )
}

function useTail(filters: string, isLive: boolean) {
  const [newest, setNewest] = useState<readonly Decision[]>([])
  const [lost, setLost] = useState<ApiProblem>()
  useEffect(() => {
    setNewest([])
    if (!isLive) return
    const aborting = new AbortController()
    const { signal } = aborting
    const follow = async () => {
      while (!signal.aborted) {
        try {
          await followDecisions(
            new URLSearchParams(filters),
            (found) => {
              setLost(undefined)
              setNewest((last) => [...found.toReversed(), ...last].slice(0, SHOWN))
            },
            signal,
          )
        } catch (error) {
          if (!signal.aborted) setLost(error as ApiProblem)
        }
        await new Promise((resolve) => setTimeout(resolve, 2_000))
      }
    }
    void follow()
    return () => aborting.abort()
  }, [filters, isLive])
  return { newest, lost }
}

function merge(newest: readonly Decision[], read: readonly Decision[]): readonly Decision[] {
  const keyOf = (one: Decision) => `${one.id} ${one.stage} ${one.time} ${one.cause}`
  const known = new Map<string, Decision>()
  for (const one of [...newest, ...read]) known.set(keyOf(one), one)
  return [...known.values()].sort((a, b) => (a.time < b.time ? 1 : -1))
}

function wordsOf(one: Decision): string {
  const { id, method, host, path, source, route, backend, gateway, rule } = one
  const words = [id, method, host, path, source, route, backend, gateway, rule?.expression]
  return [...words, reasonOf(one)].join(' ').toLowerCase()
}
