import { Stack, Table, Text, Title } from '@mantine/core'
import type { KeysAndBudgets as Found } from '../api/shapes.ts'
import { useApi } from '../api/use-api.ts'
import { PolicyLink } from '../parts/resource-links.tsx'
import { Problem } from '../parts/states.tsx'
import { Tag } from '../parts/tags.tsx'
import { WideTable } from '../parts/wide-table.tsx'

/** Lists the owners of keys, and budgets; never shows the keys themselves. */
export function KeysAndBudgets() {
  const { data, problem, reload } = useApi<Found>('/api/llm/keys', { every: 10_000 })
  if (problem !== undefined) return <Problem problem={problem} retry={reload} />
  if (data === undefined) return null
  return (
    <section className="box" aria-label="Keys and budgets">
      <Stack gap="sm">
        <Title order={2} size="h4">
          Keys and budgets
        </Title>
        {data.keys.length === 0 ? (
          <Text size="sm" c="dimmed">
            No API keys. <a href="/ui/keys">Add a key</a>: each has an owner, models that it may
            call and a date on which it expires.
          </Text>
        ) : (
          <Keys keys={data.keys} />
        )}
        {data.budgets.length === 0 ? (
          <Text size="sm" c="dimmed">
            No budgets. <a href="/ui/edit/llm/default?add=budget">Add a budget</a> to limit
            requests, tokens or dollars for each key, user or team.
          </Text>
        ) : (
          <Budgets budgets={data.budgets} />
        )}
      </Stack>
    </section>
  )
}

function Keys({ keys }: Pick<Found, 'keys'>) {
  return (
    <WideTable label="Keys" minWidth={420}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Key of</Table.Th>
          <Table.Th>Models</Table.Th>
          <Table.Th>Expires</Table.Th>
          <Table.Th>Policy</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {keys.map(({ policy, metadata, expires, isExpired, allowedModels }, index) => (
          <Table.Tr key={`${policy} ${index}`}>
            <Table.Td className="expression">{textOf(metadata)}</Table.Td>
            <Table.Td>{allowedModels === null ? 'All' : allowedModels.join(', ')}</Table.Td>
            <Table.Td>
              {expires === null ? 'Never' : new Date(expires).toLocaleDateString()}{' '}
              {isExpired ? <Tag tone="bad">Expired</Tag> : null}
            </Table.Td>
            <Table.Td>
              <PolicyLink policy={policy} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}

function Budgets({ budgets }: Pick<Found, 'budgets'>) {
  return (
    <WideTable label="Budgets" minWidth={420}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Budget</Table.Th>
          <Table.Th>For each</Table.Th>
          <Table.Th>Used</Table.Th>
          <Table.Th>Models</Table.Th>
          <Table.Th>Policy</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {budgets.map(({ policy, measure, amount, per, key, models, use }, index) => (
          <Table.Tr key={`${policy} ${index}`}>
            <Table.Td>
              {amountOf(measure, amount)} per {per.toLowerCase()}
            </Table.Td>
            <Table.Td className="expression">{key ?? 'All calls'}</Table.Td>
            <Table.Td>
              <Used measure={measure} amount={amount} hasKey={key !== null} use={use} />
            </Table.Td>
            <Table.Td>{models === null ? 'All' : models.join(', ')}</Table.Td>
            <Table.Td>
              <PolicyLink policy={policy} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}

interface UsedProps {
  readonly measure: string
  readonly amount: number
  readonly hasKey: boolean
  readonly use: Found['budgets'][number]['use']
}

/** Hides who used the budget: the grouping key may be a secret of its owner. */
function Used({ measure, amount, hasKey, use }: UsedProps) {
  if (use === null) return <Text size="sm">Not known</Text>
  const percent = Math.round((use.maxUsed / amount) * 100)
  const most = `${amountOf(measure, use.maxUsed)} (${percent} %)`
  const tone = percent >= 100 ? 'bad' : percent >= 80 ? 'warn' : 'quiet'
  const callers = `${use.callers.toLocaleString()} ${use.callers === 1 ? 'caller' : 'callers'}`
  return (
    <>
      <Tag tone={tone}>{most}</Tag>
      {hasKey ? (
        <Text size="sm" c="dimmed">
          highest usage of one caller; {amountOf(measure, use.used)} by {callers}
        </Text>
      ) : null}
    </>
  )
}

function amountOf(measure: string, amount: number): string {
  const text = amount.toLocaleString(undefined, { maximumFractionDigits: 6 })
  if (measure === 'usd') return `$${text}`
  return `${text} ${amount === 1 ? measure.replace(/s$/, '') : measure}`
}

function textOf(metadata: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(metadata).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
  return parts.length === 0 ? '(no metadata)' : parts.join(', ')
}
