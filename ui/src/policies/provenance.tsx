import { Group, Table, Text, Title } from '@mantine/core'
import { resourcePath } from '../api/client.ts'
import type { FieldOrigin, Resource } from '../api/shapes.ts'
import { useApi } from '../api/use-api.ts'
import { Loading, Problem } from '../parts/states.tsx'
import { Tag } from '../parts/tags.tsx'
import { WideTable } from '../parts/wide-table.tsx'
import { fieldName } from './field-name.ts'

/** Shows which fields come from the file, and which were edited, when and by whom. */
export function Provenance({ resource }: { readonly resource: Resource }) {
  const { kind, id, revision } = resource
  const path = `${resourcePath(kind, id)}/fields`
  const { data, problem, reload } = useApi<{ fields: readonly FieldOrigin[] }>(path)
  return (
    <section aria-label="Where it comes from">
      <Title order={2} size="h4" mb={4}>
        Where it comes from
      </Title>
      {revision === null ? null : (
        <Text size="sm" c="dimmed" mb="xs">
          Fields that were not edited follow the file. <a href="/ui/history">History</a>
        </Text>
      )}
      {problem === undefined ? null : <Problem problem={problem} retry={reload} />}
      {data === undefined && problem === undefined ? (
        <Loading label="Reading the history of each field" />
      ) : null}
      {data === undefined ? null : <Fields fields={data.fields} />}
    </section>
  )
}

function Fields({ fields }: { readonly fields: readonly FieldOrigin[] }) {
  return (
    <WideTable label="Fields" minWidth={320}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Field</Table.Th>
          <Table.Th>From</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {fields.map((one) => (
          <Row key={one.field} origin={one} />
        ))}
      </Table.Tbody>
    </WideTable>
  )
}

function Row({ origin }: { readonly origin: FieldOrigin }) {
  const { field, comment, isRemoved, isDrifted, from } = origin
  return (
    <Table.Tr>
      <Table.Td>
        {field === '' ? 'All fields' : <span className="expression">{fieldName(field)}</span>}
      </Table.Td>
      <Table.Td>
        <Group gap="xs">
          {from === 'baseline' ? fileWords(origin) : editWords(origin)}
          {isRemoved ? <Tag tone="quiet">Removed</Tag> : null}
          {isDrifted ? <Tag tone="warn">The file changed since</Tag> : null}
        </Group>
        {comment === null || comment === '' ? null : (
          <Text size="sm" c="dimmed">
            {comment}
          </Text>
        )}
      </Table.Td>
    </Table.Tr>
  )
}

function fileWords({ line }: FieldOrigin): string {
  return line === null ? 'The file' : `The file, line ${line}`
}

function editWords({ revision, author, time, line }: FieldOrigin): string {
  const when = time === null ? '' : `, ${new Date(time).toLocaleString()}`
  const instead = line === null ? '' : `, instead of line ${line} of the file`
  return `Revision ${revision} by ${author}${when}${instead}`
}
