import { Button, Group } from '@mantine/core'
import { focusField } from '../forms/form-context.ts'
import type { Kind } from '../forms/schema.ts'
import { HINTS, started } from '../kinds/hints.ts'

interface StartButtonsProps {
  readonly kind: Kind
  readonly value: unknown
  readonly onChange: (value: unknown) => void
}

/** Adds what resources of this kind usually have. */
export function StartButtons({ kind, value, onChange }: StartButtonsProps) {
  const { starts } = HINTS[kind]
  if (starts.length === 0) return null
  return (
    <Group gap="xs" role="group" aria-label="Add to it">
      {starts.map((start) => (
        <Button
          key={start.id}
          size="xs"
          variant="default"
          onClick={() => {
            const next = started(value, start)
            onChange(next.value)
            focusField(next.path)
          }}
        >
          Add {start.label}
        </Button>
      ))}
    </Group>
  )
}
