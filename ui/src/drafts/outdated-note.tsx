import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'

interface OutdatedNoteProps {
  /** What was stored meanwhile. */
  readonly children: ReactNode
  /** Absent if saving replaces only what the draft changes. */
  readonly keep?: () => void
  readonly discard: () => void
}

/** Something was stored since a draft was begun: its author decides what remains. */
export function OutdatedNote({ children, keep, discard }: OutdatedNoteProps) {
  return (
    <Alert color="gray" variant="outline" title="It has changed since you began to edit it">
      <Stack gap="xs">
        <Text size="sm">These changes were stored meanwhile:</Text>
        {children}
        <Group gap="xs">
          {keep === undefined ? null : (
            <Button size="xs" variant="default" onClick={keep}>
              Replace them with my version
            </Button>
          )}
          <Button size="xs" variant="default" onClick={discard}>
            Discard my changes
          </Button>
        </Group>
      </Stack>
    </Alert>
  )
}
