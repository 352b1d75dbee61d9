import { Alert, Button, Group, Text } from '@mantine/core'
import { useState } from 'react'
import { type ApiProblem, call } from '../api/client.ts'
import type { Health, HistoryEntry } from '../api/shapes.ts'
import { useHealth } from '../health.ts'
import { Problem } from '../parts/states.tsx'
import { setSaved, useSaved } from './saved.ts'

interface SavedNoteProps {
  readonly name: string
  readonly undone: () => void
}

/** Says that a change was saved, and takes it back if nothing was stored since. */
export function SavedNote({ name, undone }: SavedNoteProps) {
  const saved = useSaved()
  const health = useHealth()
  const [problem, setProblem] = useState<ApiProblem>()
  const [isBusy, setBusy] = useState(false)
  if (saved === undefined || saved.name !== name) return null
  const { revision } = saved
  const now = health.data?.storage.revision ?? revision
  const undo = async () => {
    setBusy(true)
    try {
      // Someone else may have stored a change a moment ago, which a rollback would remove, too.
      const { storage } = await call<Health>('/api/health')
      if (storage.revision === revision) {
        const path = `/api/config/history?before=${revision}&limit=1`
        const { entries } = await call<{ entries: readonly HistoryEntry[] }>(path)
        const before = entries[0]?.revision ?? 0
        const body = { revision: before, comment: `Undo of revision ${revision}` }
        await call('/api/config/rollback', { method: 'POST', body })
        setSaved(undefined)
        undone()
      }
      health.reload()
    } catch (error) {
      setProblem(error as ApiProblem)
    }
    setBusy(false)
  }
  return (
    <Alert color="gray" variant="outline" title={`Saved as revision ${revision}`} role="status">
      <Group gap="sm">
        {now > revision ? (
          <Text size="sm">
            Revision {now} was stored since: to undo this change, use the{' '}
            <a href="/ui/history">History</a>.
          </Text>
        ) : (
          <>
            <Text size="sm">All replicas serve it.</Text>
            <Button size="xs" variant="default" onClick={() => void undo()} loading={isBusy}>
              Undo
            </Button>
          </>
        )}
        <Button size="xs" variant="subtle" color="gray" onClick={() => setSaved(undefined)}>
          Close
        </Button>
      </Group>
      {problem === undefined ? null : <Problem problem={problem} />}
    </Alert>
  )
}
