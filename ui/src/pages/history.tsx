import { Button, Group, Select, Stack, Text, Title } from '@mantine/core'
import { useState } from 'react'
import { stringify } from 'yaml'
import { call } from '../api/client.ts'
import type { HistoryEntry } from '../api/shapes.ts'
import { useApi } from '../api/use-api.ts'
import { useIsReadOnly } from '../health.ts'
import { ConfirmedChange } from '../history/confirmed-change.tsx'
import { TextDiff } from '../history/text-diff.tsx'
import { Empty, Loading, Page, Problem, ReadOnlyNote, RoleNote } from '../parts/states.tsx'
import { Tag } from '../parts/tags.tsx'
import { useMay } from '../session.ts'

/** Shows who changed what, and offers a rollback. */
export function History() {
  const isReadOnly = useIsReadOnly()
  const mayEdit = useMay('editor')
  const { data, problem, reload } = useApi<{ entries: readonly HistoryEntry[] }>(
    '/api/config/history?limit=200',
  )
  const [kind, setKind] = useState<string | null>(null)
  const entries = (data?.entries ?? []).filter((one) => kind === null || one.kind === kind)
  const revisions = [...Map.groupBy(entries, ({ revision }) => revision)]
  return (
    <Page
      title="History"
      lead="Every stored change with its author. You can roll back to any revision."
    >
      <ReadOnlyNote />
      {isReadOnly === false ? <RoleNote needs="editor" to="roll back" /> : null}
      {problem === undefined ? null : <Problem problem={problem} retry={reload} />}
      {data === undefined && problem === undefined ? <Loading label="Reading the history" /> : null}
      {data?.entries.length === 0 ? (
        <Empty title="No changes are stored">
          {isReadOnly === true
            ? 'The history of a file is in its repository.'
            : 'Change a policy; the change, its author and its effect on the resource appear here.'}
        </Empty>
      ) : (
        <Select
          label="Kind"
          placeholder="Any"
          clearable
          data={[...new Set((data?.entries ?? []).map((one) => one.kind))]}
          value={kind}
          onChange={setKind}
          w={200}
        />
      )}
      {revisions.map(([revision, all], index) => (
        <Revision
          key={revision}
          revision={revision}
          entries={all}
          isNewest={index === 0 && kind === null}
          canRollBack={mayEdit}
          rolledBack={reload}
        />
      ))}
      {revisions.length === 0 || kind !== null ? null : (
        <Beginning canRollBack={mayEdit} rolledBack={reload} />
      )}
    </Page>
  )
}

interface BeginningProps {
  readonly canRollBack: boolean
  readonly rolledBack: () => void
}

/** Revision 0: what was served before the first change. */
function Beginning({ canRollBack, rolledBack }: BeginningProps) {
  return (
    <section className="box" aria-label="Revision 0">
      <Group justify="space-between" align="start">
        <div>
          <Title order={2} size="h4">
            Revision 0
          </Title>
          <Text size="sm" c="dimmed">
            The file alone, without stored changes
          </Text>
        </div>
        {canRollBack ? <Rollback revision={0} done={rolledBack} /> : null}
      </Group>
    </section>
  )
}

interface RevisionProps {
  readonly revision: number
  readonly entries: readonly HistoryEntry[]
  readonly isNewest: boolean
  readonly canRollBack: boolean
  readonly rolledBack: () => void
}

function Revision({ revision, entries, isNewest, canRollBack, rolledBack }: RevisionProps) {
  const [first] = entries
  if (first === undefined) return null
  const { author, time, comment, action } = first
  return (
    <section className="box" aria-label={`Revision ${revision}`}>
      <Stack gap="sm">
        <Group justify="space-between" align="start">
          <div>
            <Group gap="xs">
              <Title order={2} size="h4">
                Revision {revision}
              </Title>
              {isNewest ? <Tag tone="good">Current</Tag> : null}
            </Group>
            <Text size="sm" c="dimmed">
              {action} by {author}, {new Date(time).toLocaleString()}
            </Text>
            {comment === '' ? null : <Text size="sm">{comment}</Text>}
          </div>
          {isNewest || !canRollBack ? null : <Rollback revision={revision} done={rolledBack} />}
        </Group>
        {entries.map((entry) => (
          <div key={`${entry.kind}/${entry.id}`}>
            <Text size="sm" fw={600}>
              {entry.kind} / {entry.id}
              {entry.state === 'hidden' ? ' (deleted)' : ''}
              {entry.state === 'reset' ? ' (reverted to the file)' : ''}
            </Text>
            <TextDiff before={textOf(entry.before)} after={textOf(entry.after)} />
          </div>
        ))}
      </Stack>
    </section>
  )
}

function textOf(value: unknown): string {
  return value === null || value === undefined ? '' : stringify(value)
}

function Rollback({ revision, done }: { readonly revision: number; readonly done: () => void }) {
  const [isAsked, setAsked] = useState(false)
  if (!isAsked) {
    return (
      <Button size="xs" variant="default" onClick={() => setAsked(true)}>
        Roll back to revision {revision}
      </Button>
    )
  }
  return (
    <ConfirmedChange
      yes="Yes, roll back"
      change={(comment) =>
        call('/api/config/rollback', { method: 'POST', body: { revision, comment } })
      }
      changed={() => {
        setAsked(false)
        done()
      }}
      cancel={() => setAsked(false)}
    />
  )
}
