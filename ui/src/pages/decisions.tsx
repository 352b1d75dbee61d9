import { Button, Group, Select, Stack, Switch, Text, TextInput } from '@mantine/core'
import { useEffect, useState } from 'react'
import { type ApiProblem, call } from '../api/client.ts'
import type { Decision } from '../api/shapes.ts'
import { followDecisions } from '../api/tail.ts'
import { useApi } from '../api/use-api.ts'
import { DecisionPage } from '../decisions/decision-page.tsx'
import { DecisionRow } from '../parts/decision-row.tsx'
import { Empty, Loading, Page, Problem } from '../parts/states.tsx'
import { replaceQuery, usePlace } from '../router.ts'

const SHOWN = 500
const STAGES = ['connection', 'traffic', 'backend', 'mcp', 'llm']
const VERDICTS = [
  { value: 'denied', label: 'Denied' },
  { value: 'rejected', label: 'Rejected' },
  { value: 'allowed', label: 'Allowed' },
  { value: 'would-deny', label: 'Would deny (audit)' },
  { value: 'skipped', label: 'Skipped a provider' },
]
/** Filters that the API applies, to everything that is stored. They are part of the address. */
const FILTERS = ['verdict', 'policy', 'stage', 'text']
const TIMES = ['since', 'until']
const PAGE = 200

interface Found {
  readonly decisions: readonly Decision[]
  readonly more: boolean
  readonly oldest: string | null
  readonly incomplete?: string
}

export function Decisions() {
  const { path } = usePlace()
  const [, id] = path.split('/')
  return id === undefined || id === '' ? <List /> : <DecisionPage id={decodeURIComponent(id)} />
}

function List() {
  const { query } = usePlace()
  const [isLive, setLive] = useState(true)
  const filters = given(query, FILTERS).toString()
  const asked = `${given(query, [...FILTERS, ...TIMES])}&limit=${PAGE}`.replace(/^&/, '')
  const { data, problem, reload, isLoading } = useApi<Found>(`/api/decisions?${asked}`)
  const older = useOlder(asked, data)
  const { newest, lost } = useTail(filters, isLive && !query.has('until'))
  const shown = merge(newest, older.all)
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
          value={query.get('text') ?? ''}
          onChange={(event) => set('text')(event.currentTarget.value)}
          flex="1 1 12rem"
        />
        {TIMES.map((name) => (
          <TextInput
            key={name}
            label={name === 'since' ? 'From' : 'To'}
            type="datetime-local"
            value={localTime(query.get(name))}
            onChange={(event) => set(name)(utcTime(event.currentTarget.value))}
          />
        ))}
      </Group>
      {problem === undefined ? null : <Problem problem={problem} retry={reload} />}
      {lost === undefined ? null : <Problem problem={lost} />}
      {isLoading && data === undefined ? <Loading label="Reading decisions" /> : null}
      {data !== undefined && shown.length === 0 ? (
        <Empty title="No matching decisions">
          {asked.includes('&')
            ? 'None of the stored decisions matches these filters. Remove one to see others.'
            : 'Denials are always recorded. Send a request that a rule denies. With Live on, new decisions appear automatically.'}
        </Empty>
      ) : null}
      <Text size="sm" c="dimmed" role="status">
        {shown.length} shown{isLive ? ', new decisions appear automatically' : ''}.{' '}
        {coverageOf(data)}
      </Text>
      <Stack gap={0} className="rows">
        {shown.map((decision, index) => (
          <DecisionRow key={`${decision.id} ${decision.stage} ${index}`} decision={decision} />
        ))}
      </Stack>
      <Group>
        <Button variant="default" onClick={reload}>
          Read again
        </Button>
        {older.hasMore ? (
          <Button variant="default" onClick={older.read} loading={older.isReading}>
            Show older
          </Button>
        ) : null}
      </Group>
    </Page>
  )
}

/** What the search covered: an empty result must not be mistaken for one of all time. */
function coverageOf(data: Found | undefined): string {
  if (data === undefined) return ''
  if (data.incomplete !== undefined) return `The search is not complete: ${data.incomplete}.`
  if (data.oldest === null) return 'No decisions are stored.'
  const since = new Date(data.oldest).toLocaleString()
  return `All stored decisions were searched; the oldest is of ${since}.`
}

function given(query: URLSearchParams, names: readonly string[]): URLSearchParams {
  return new URLSearchParams(
    [...query].filter(([name, value]) => names.includes(name) && value !== ''),
  )
}

/** The form of the input; times in addresses are in UTC. */
function localTime(time: string | null): string {
  const at = time === null ? Number.NaN : Date.parse(time)
  if (Number.isNaN(at)) return ''
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

function utcTime(local: string): string {
  return local === '' ? '' : new Date(local).toISOString()
}

/** Pages before the first one, as far as they were read. */
function useOlder(asked: string, first: Found | undefined) {
  const [pages, setPages] = useState<readonly Found[]>([])
  const [isReading, setReading] = useState(false)
  useEffect(() => {
    void asked
    void first
    setPages([])
  }, [asked, first])
  const all = [first, ...pages].flatMap((page) => page?.decisions ?? [])
  const last = [first, ...pages].at(-1)
  const read = async () => {
    const query = new URLSearchParams(asked)
    query.set('until', all.at(-1)?.time ?? '')
    setReading(true)
    try {
      const page = await call<Found>(`/api/decisions?${query}`)
      setPages((before) => [...before, page])
    } finally {
      setReading(false)
    }
  }
  return { all, read, isReading, hasMore: last?.more === true }
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
