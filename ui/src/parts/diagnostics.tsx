import { Group, Stack, Text } from '@mantine/core'
import { createContext, useContext } from 'react'
import type { Diagnostic, Origin } from '../api/shapes.ts'
import { Paged } from './paged.tsx'
import { Tag, type Tone } from './tags.tsx'

const TONES: Readonly<Record<string, Tone>> = { error: 'bad', warning: 'warn', info: 'quiet' }

/** Says where a message is in what its user sees; undefined if it is elsewhere. */
export const PlaceContext = createContext<(found: Diagnostic) => string | undefined>(
  () => undefined,
)

export function Diagnostics({ found }: { readonly found: readonly Diagnostic[] }) {
  const placeOf = useContext(PlaceContext)
  return (
    <Paged
      label="messages"
      items={found}
      within={(items) => (
        <Stack gap="xs" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
          {items}
        </Stack>
      )}
    >
      {(one, index) => (
        <li key={index} className="box">
          <Group gap="xs" mb={4}>
            <Tag tone={TONES[one.severity] ?? 'quiet'}>{one.severity}</Tag>
            <Text size="sm" fw={600} component="span">
              {one.code}
            </Text>
            <Text size="sm" c="dimmed" component="span" className="expression">
              {placeOf(one) ?? placeOfOrigin(one.origin)}
            </Text>
          </Group>
          <Text size="sm">{one.message}</Text>
          {one.hint === undefined ? null : (
            <Text size="sm" c="dimmed">
              {one.hint}
            </Text>
          )}
        </li>
      )}
    </Paged>
  )
}

function placeOfOrigin(origin: Origin | undefined): string {
  if (origin === undefined) return ''
  if (origin.kind === 'object') return `${origin.object} ${origin.field}`
  return `${origin.file.split('/').at(-1)}:${origin.line}:${origin.column}`
}
