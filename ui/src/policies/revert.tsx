import { Button, Stack, Text, Title } from '@mantine/core'
import { useMemo, useState } from 'react'
import { call, resourcePath } from '../api/client.ts'
import type { Change, Resource } from '../api/shapes.ts'
import { useIsReadOnly } from '../health.ts'
import { ConfirmedChange } from '../history/confirmed-change.tsx'
import { useMay } from '../session.ts'
import { Effect } from './effect.tsx'

interface RevertProps {
  readonly resource: Resource
  readonly done: () => void
}

/** Removes the edits of a resource, so that it is as in the file. */
export function Revert({ resource, done }: RevertProps) {
  const { kind, id, origin, etag } = resource
  const [isAsked, setAsked] = useState(false)
  const [isSeen, setSeen] = useState(false)
  const isReadOnly = useIsReadOnly()
  const mayEdit = useMay('editor')
  const changes = useMemo<readonly Change[]>(
    () => [{ action: 'revert', kind, id, ifMatch: etag }],
    [kind, id, etag],
  )
  if (origin !== 'merged' || isReadOnly !== false || !mayEdit) return null
  const revert = (comment: string) => {
    const query = new URLSearchParams({ to: 'baseline', comment })
    const headers = { 'if-match': etag }
    return call(`${resourcePath(kind, id)}?${query}`, { method: 'DELETE', headers })
  }
  if (!isAsked) {
    return (
      <Button variant="default" w="fit-content" onClick={() => setAsked(true)}>
        Revert to the file
      </Button>
    )
  }
  return (
    <Stack gap="sm" role="region" aria-label="Revert to the file">
      <Title order={2} size="h4">
        Revert to the file
      </Title>
      <Text size="sm">All stored edits of it are removed; the history keeps them.</Text>
      <Effect changes={changes} done={setSeen} />
      <ConfirmedChange
        yes="Yes, revert"
        isReady={isSeen}
        change={revert}
        changed={done}
        cancel={() => setAsked(false)}
      />
    </Stack>
  )
}
