import { Group, Table, Text, Title } from '@mantine/core'
import type { Resource } from '../api/shapes.ts'
import { Tag } from '../parts/tags.tsx'
import { type FieldOrigin, fieldOrigins } from './field-origins.ts'

/** Which fields are those of the file, and which were edited, by whom. */
export function Provenance({ resource }: { readonly resource: Resource }) {
  const { revision, author, time } = resource
  return (
    <section aria-label="Where it comes from">
      <Title order={2} size="h4" mb={4}>
        Where it comes from
      </Title>
      {revision === null ? null : (
        <Text size="sm" c="dimmed" mb="xs">
          Last edited by {author} at revision {revision},{' '}
          {time === null ? '' : new Date(time).toLocaleString()}. Fields that were not edited follow
          the file. <a href="/ui/history">History</a>
        </Text>
      )}
      <Table.ScrollContainer minWidth={320}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Field</Table.Th>
              <Table.Th>From</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {fieldOrigins(resource).map((one) => (
              <Row key={one.field} origin={one} revision={revision} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </section>
  )
}

interface RowProps {
  readonly origin: FieldOrigin
  readonly revision: number | null
}

function Row({ origin, revision }: RowProps) {
  const { field, from, isRemoved, isDrifted } = origin
  return (
    <Table.Tr>
      <Table.Td>
        {field === '' ? 'All fields' : <span className="expression">{field}</span>}
      </Table.Td>
      <Table.Td>
        <Group gap="xs">
          {from === 'file' ? 'The file' : `Stored edit, revision ${revision}`}
          {isRemoved ? <Tag tone="quiet">Removed</Tag> : null}
          {isDrifted ? <Tag tone="warn">The file changed since</Tag> : null}
        </Group>
      </Table.Td>
    </Table.Tr>
  )
}
