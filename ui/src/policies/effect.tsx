import { Group, Stack, Text, Title } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { type ApiProblem, call } from '../api/client.ts'
import type { Change, Difference, DiffReport, ReplayReport, Validation } from '../api/shapes.ts'
import { Diagnostics } from '../parts/diagnostics.tsx'
import { Loading, Problem } from '../parts/states.tsx'
import { Tag } from '../parts/tags.tsx'

interface EffectProps {
  readonly changes: readonly Change[]
  /** Called when all checks are done, with the validity of the result. */
  readonly done: (isValid: boolean) => void
}

type Report<T> = T | ApiProblem | undefined

/** Previews a change: validity, lint, all requests, recorded requests. */
export function Effect({ changes, done }: EffectProps) {
  const [validation, setValidation] = useState<Report<Validation>>()
  const [lint, setLint] = useState<Report<Validation>>()
  const [diff, setDiff] = useState<Report<DiffReport>>()
  const [replay, setReplay] = useState<Report<ReplayReport>>()
  // The parent may render for other reasons: only a new change is checked again.
  const told = useRef(done)
  told.current = done
  useEffect(() => {
    const aborting = new AbortController()
    const { signal } = aborting
    const post = async <T,>(path: string, set: (report: Report<T>) => void) => {
      const found = await call<T>(path, { method: 'POST', body: { changes }, signal }).catch(
        (error: ApiProblem) => error,
      )
      if (!signal.aborted) set(found)
      return found
    }
    const look = async () => {
      const first = await post<Validation>('/api/config/validate', setValidation)
      const isValid = !(first instanceof Error) && first.isValid
      if (isValid) {
        await post<Validation>('/api/policies/lint', setLint)
        await post<DiffReport>('/api/policies/diff', setDiff)
        await post<ReplayReport>('/api/policies/replay', setReplay)
      }
      if (!signal.aborted) told.current(isValid)
    }
    void look()
    return () => aborting.abort()
  }, [changes])
  const isValid = validation !== undefined && !(validation instanceof Error) && validation.isValid
  return (
    <Stack gap="md" aria-label="Effect of the change" role="region">
      <Part title="Is it valid?" report={validation} isReady>
        {(found) =>
          found.isValid ? (
            <Tag tone="good">The configuration stays valid</Tag>
          ) : (
            <Diagnostics found={found.diagnostics} />
          )
        }
      </Part>
      <Part title="Lint" report={lint} isReady={isValid}>
        {({ diagnostics }) =>
          diagnostics.length === 0 ? (
            <Tag tone="good">Nothing to report</Tag>
          ) : (
            <Diagnostics found={diagnostics} />
          )
        }
      </Part>
      <Part title="All requests" report={diff} isReady={lint !== undefined}>
        {(found) => <Differences report={found} />}
      </Part>
      <Part title="Recorded requests" report={replay} isReady={diff !== undefined}>
        {(found) => (
          <Text size="sm">
            Of {found.requests} recorded requests {found.changed.length} would be decided
            differently, {found.unchanged} the same, {unknownIn(found)} are not known.
          </Text>
        )}
      </Part>
    </Stack>
  )
}

function unknownIn({ unknown }: ReplayReport): number {
  return unknown.reduce((sum, { requests }) => sum + requests, 0)
}

interface PartProps<T> {
  readonly title: string
  readonly report: Report<T>
  /** Whether the check of this part has started. */
  readonly isReady: boolean
  readonly children: (found: T) => React.ReactNode
}

function Part<T>({ title, report, isReady, children }: PartProps<T>) {
  if (report === undefined && !isReady) return null
  return (
    <div>
      <Title order={3} size="h5" mb={4}>
        {title}
      </Title>
      {report === undefined ? <Loading label="Looking" /> : null}
      {report instanceof Error ? <Problem problem={report} /> : null}
      {report === undefined || report instanceof Error ? null : children(report)}
    </div>
  )
}

function Differences({ report }: { readonly report: DiffReport }) {
  const { differences, untold } = report
  return (
    <Stack gap="xs">
      {differences.length === 0 && untold.length === 0 ? (
        <Tag tone="good">Every request is decided as before</Tag>
      ) : null}
      {differences.map((difference, index) => (
        <DifferenceRow key={`${difference.kind} ${index}`} difference={difference} />
      ))}
      {untold.map(({ route, why }, index) => (
        <Text key={`${route} ${index}`} size="sm" c="dimmed">
          {route === '' ? 'Not known' : `Not known for ${route}`}: {why}
        </Text>
      ))}
    </Stack>
  )
}

function DifferenceRow({ difference }: { readonly difference: Difference }) {
  const { kind, route, example, old, now } = difference
  const headers = Object.entries(example.headers)
  return (
    <div className="box">
      <Group gap="xs">
        <Tag tone={kind === 'admitted' ? 'warn' : 'bad'}>
          {kind === 'admitted' ? 'Newly admitted' : 'Newly denied'}
        </Tag>
        <Text size="sm" component="span">
          {route}
        </Text>
      </Group>
      <div className="expression">
        {example.isConnection ? 'A connection' : `${example.method} ${example.path}`}
        {example.query === '' ? '' : `?${example.query}`} from {example.source}
        {example.proxyHeader === undefined ? null : ` (PROXY header: ${example.proxyHeader})`}
        {headers.map(([name, value]) => (
          <div key={name}>
            {name}: {value}
          </div>
        ))}
        {Object.keys(example.identity).length === 0
          ? null
          : ` as ${JSON.stringify(example.identity)}`}
      </div>
      <Text size="sm" c="dimmed">
        Before: {old.reason}. Now: {now.reason}.
      </Text>
    </div>
  )
}
