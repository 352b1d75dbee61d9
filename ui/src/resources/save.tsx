import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { stringify } from 'yaml'
import { type ApiProblem, call, resourcePath } from '../api/client.ts'
import type { Diagnostic, Resource } from '../api/shapes.ts'
import { useHealth } from '../health.ts'
import { Diagnostics } from '../parts/diagnostics.tsx'
import { Problem } from '../parts/states.tsx'
import { setSaved } from './saved.ts'

interface SaveProps {
  readonly kind: string
  readonly id: string
  /** `none` for a new resource. */
  readonly etag: string
  readonly value: unknown
  readonly isSeen: boolean
  readonly saved: () => void
  /** Reads what is stored now, and keeps the draft. */
  readonly compare: () => void
}

export function Save({ kind, id, etag, value, isSeen, saved, compare }: SaveProps) {
  const [comment, setComment] = useState('')
  const [problem, setProblem] = useState<ApiProblem>()
  const [isSaving, setSaving] = useState(false)
  const health = useHealth()
  const save = async () => {
    setSaving(true)
    try {
      const query = comment.trim() === '' ? '' : `?comment=${encodeURIComponent(comment.trim())}`
      const headers: Record<string, string> =
        etag === 'none' ? { 'if-none-match': '*' } : { 'if-match': etag }
      const path = `${resourcePath(kind, id)}${query}`
      const { revision } = await call<Resource>(path, { method: 'PUT', body: value, headers })
      health.reload()
      if (revision !== null) setSaved({ name: `${kind}/${id}`, revision })
      saved()
    } catch (error) {
      setProblem(error as ApiProblem)
    }
    setSaving(false)
  }
  const { diagnostics = [] } = (problem?.more ?? {}) as {
    readonly diagnostics?: readonly Diagnostic[]
  }
  return (
    <Stack gap="sm">
      <TextInput
        label="Comment for the history"
        placeholder="Reason for the change"
        value={comment}
        onChange={(event) => setComment(event.currentTarget.value)}
        maw={520}
      />
      <Group>
        <Button onClick={() => void save()} disabled={!isSeen} loading={isSaving}>
          Save
        </Button>
        <Text size="sm" c="dimmed">
          {isSeen ? 'All replicas apply it at once.' : 'See the effect first.'}
        </Text>
      </Group>
      {problem === undefined ? null : <Problem problem={problem} />}
      {diagnostics.length === 0 ? null : <Diagnostics found={diagnostics} />}
      {problem?.status === 412 ? <Conflict problem={problem} compare={compare} /> : null}
    </Stack>
  )
}

function Conflict({ problem, compare }: { problem: ApiProblem; compare: () => void }) {
  const { current } = problem.more as { readonly current?: { readonly value?: unknown } | null }
  return (
    <Stack gap="xs">
      <Text size="sm">What is stored now:</Text>
      <pre className="box expression">{stringify(current?.value ?? null)}</pre>
      <Button variant="default" w="fit-content" onClick={compare}>
        Compare it with my change
      </Button>
    </Stack>
  )
}
