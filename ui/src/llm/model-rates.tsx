import { Stack, Table, Text, Title } from '@mantine/core'
import type { ModelCosts, ModelRates as Rates } from '../api/shapes.ts'
import { useApi } from '../api/use-api.ts'
import { Problem } from '../parts/states.tsx'
import { WideTable } from '../parts/wide-table.tsx'

type Rated = ModelCosts['models'][number]

/** Catalogs may have thousands of models; the API returns all of them. */
const MAX_ROWS = 100

/** Shows the rates that calls are priced by, and where they are set. */
export function ModelRates() {
  const { data, problem, reload } = useApi<ModelCosts>('/api/llm/costs', { every: 10_000 })
  if (problem !== undefined) return <Problem problem={problem} retry={reload} />
  if (data === undefined) return null
  const over = data.models.length - MAX_ROWS
  return (
    <section className="box" aria-label="Rates">
      <Stack gap="sm">
        <Title order={2} size="h4">
          Rates in US dollars per million tokens
        </Title>
        {data.models.length === 0 ? (
          <Text size="sm" c="dimmed">
            No rates, so that calls have no cost. Add a model catalog as `config.modelCatalog`: a
            file or inline.
          </Text>
        ) : (
          <RateTable models={data.models.slice(0, MAX_ROWS)} />
        )}
        {over <= 0 ? null : (
          <Text size="sm" c="dimmed">
            {over} more: GET /api/llm/costs
          </Text>
        )}
      </Stack>
    </section>
  )
}

function RateTable({ models }: { readonly models: readonly Rated[] }) {
  return (
    <WideTable label="Rates" minWidth={420}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Model</Table.Th>
          <Table.Th>Provider</Table.Th>
          <Table.Th>Input</Table.Th>
          <Table.Th>Output</Table.Th>
          <Table.Th>Other rates</Table.Th>
          <Table.Th>From</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {models.map(({ provider, model, rates, tiers, from }) => (
          <Table.Tr key={`${provider} ${model}`}>
            <Table.Td>{model}</Table.Td>
            <Table.Td>{provider}</Table.Td>
            <Table.Td>{rates.input ?? 'Not known'}</Table.Td>
            <Table.Td>{rates.output ?? 'Not known'}</Table.Td>
            <Table.Td>
              {textOf(rates, ['input', 'output'])}
              {tiers.map((tier) => (
                <div key={tier.contextOver}>
                  {`Over ${tier.contextOver.toLocaleString()} tokens: ${textOf(tier.rates)}`}
                </div>
              ))}
            </Table.Td>
            <Table.Td className="expression">
              {from.file ?? `config.modelCatalog[${from.catalog}]`}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}

function textOf(rates: Rates, shown: readonly string[] = []): string {
  return Object.entries(rates)
    .filter(([name]) => !shown.includes(name))
    .map(([name, rate]) => `${name} ${rate}`)
    .join(', ')
}
