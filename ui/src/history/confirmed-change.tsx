import { Button, Group, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ApiProblem } from '../api/client.ts'
import { useHealth } from '../health.ts'
import { Problem } from '../parts/states.tsx'

interface ConfirmedChangeProps {
  /** What the button to confirm says. */
  readonly yes: string
  /** Without it, the change cannot be confirmed yet. */
  readonly isReady?: boolean
  readonly change: (comment: string) => Promise<unknown>
  readonly changed: () => void
  readonly cancel: () => void
}

/** Requires a comment and a confirmation: a stored change affects all replicas. */
export function ConfirmedChange(props: ConfirmedChangeProps) {
  const { yes, isReady = true, change, changed, cancel } = props
  const [comment, setComment] = useState('')
  const [problem, setProblem] = useState<ApiProblem>()
  const health = useHealth()
  const confirm = async () => {
    try {
      await change(comment)
      health.reload()
      changed()
    } catch (error) {
      setProblem(error as ApiProblem)
    }
  }
  return (
    <Stack gap="xs">
      <TextInput
        label="Comment for the history"
        value={comment}
        onChange={(event) => setComment(event.currentTarget.value)}
        size="xs"
        maw={520}
      />
      <Group gap="xs">
        <Button size="xs" color="red" disabled={!isReady} onClick={confirm}>
          {yes}
        </Button>
        <Button size="xs" variant="default" onClick={cancel}>
          No
        </Button>
      </Group>
      {problem === undefined ? null : <Problem problem={problem} />}
    </Stack>
  )
}
