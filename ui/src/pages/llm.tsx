import { Button, Group, Select, Stack, Table, Text, Textarea, Title } from '@mantine/core'
import { useState } from 'react'
import type { ApiProblem } from '../api/client.ts'
import type { Catalogue, Effective, MetricsSummary, PlaygroundResponse } from '../api/shapes.ts'
import { useApi } from '../api/use-api.ts'
import { KeysAndBudgets } from '../llm/keys-and-budgets.tsx'
import { ModelRates } from '../llm/model-rates.tsx'
import { UsageCharts } from '../llm/usage-charts.tsx'
import { Bars } from '../parts/bars.tsx'
import { Guards } from '../parts/guards.tsx'
import { AddLinks, ResourceLink } from '../parts/resource-links.tsx'
import { Empty, Loading, Page, Problem, ReadOnlyNote, RoleNote } from '../parts/states.tsx'
import { Protection, Tag } from '../parts/tags.tsx'
import { type Way, waysTo } from '../parts/ways.ts'
import { WideTable } from '../parts/wide-table.tsx'
import { ClientHeaders } from '../playground/client-headers.tsx'
import { listenerOf, play, readHeaders } from '../playground/play.ts'
import { useMay } from '../session.ts'

type Backend = Catalogue['backends'][number]

/** Shows models, their providers and their usage, and a prompt to try them with. */
export function Llm() {
  const { data, problem, reload } = useApi<Catalogue>('/api/llm/catalogue')
  const metrics = useApi<MetricsSummary>('/api/metrics/summary', { every: 5_000 })
  const effective = useApi<Effective>('/api/policies/effective')
  const ways = waysTo(effective.data)
  const usage = metrics.data?.llm
  return (
    <Page
      title="LLM"
      lead="Models that clients can request, their usage and the rules that guard them."
      actions={<AddLinks kind="llm" ids={['model', 'key', 'budget']} />}
    >
      <ReadOnlyNote />
      {problem === undefined ? null : <Problem problem={problem} retry={reload} />}
      {data === undefined && problem === undefined ? <Loading label="Reading models" /> : null}
      {data?.backends.length === 0 ? (
        <Empty title="No models">
          <a href="/ui/edit/llm/default?add=model">Add a model</a> and its provider. The gateway
          then serves it in the forms of OpenAI and Anthropic, and rules say who may call which. In
          a file, add `llm:` with `models` and a provider.
        </Empty>
      ) : null}
      {usage === undefined || data?.backends.length === 0 ? null : (
        <Group align="start" grow preventGrowOverflow={false}>
          <Bars title="Calls" counts={usage.requests} />
          <Bars title="Tokens" counts={usage.tokens} />
          <Bars title="Cost in US dollars" counts={usage.cost} digits={4} />
        </Group>
      )}
      {data === undefined || data.backends.length === 0 ? null : <UsageCharts />}
      {data === undefined || data.backends.length === 0 ? null : <KeysAndBudgets />}
      {data === undefined || data.backends.length === 0 ? null : <ModelRates />}
      {(data?.backends ?? []).map((backend) => (
        <section key={backend.backend} className="box" aria-label={`Models of ${backend.backend}`}>
          <Stack gap="sm">
            <Title order={2} size="h4">
              <ResourceLink kind="backends" id={backend.backend} />
            </Title>
            <Models backend={backend} />
            {effective.data === undefined ? <Loading label="Analyzing guards" /> : null}
            {(ways.get(backend.backend) ?? []).map((way, index) => (
              <Guarded key={`${way.route.route} ${index}`} way={way} backend={backend} />
            ))}
          </Stack>
        </section>
      ))}
    </Page>
  )
}

function Models({ backend }: { readonly backend: Backend }) {
  const addresses = new Map(backend.providers.map((one) => [one.name, one]))
  return (
    <WideTable label="Models" minWidth={300}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Model</Table.Th>
          <Table.Th>Provider</Table.Th>
          <Table.Th>Address</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {backend.models.map((model) => (
          <Table.Tr key={model.name}>
            <Table.Td>{model.name}</Table.Td>
            <Table.Td>{addresses.get(model.provider)?.provider ?? model.provider}</Table.Td>
            <Table.Td className="expression">
              {addresses.get(model.provider)?.address ?? ''}
            </Table.Td>
          </Table.Tr>
        ))}
        {backend.virtualModels.map((model) => (
          <Table.Tr key={model.name}>
            <Table.Td>{model.name}</Table.Td>
            <Table.Td>
              <Tag tone="quiet">virtual, {model.routing}</Tag>
            </Table.Td>
            <Table.Td />
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}

function Guarded({ way, backend }: { readonly way: Way; readonly backend: Backend }) {
  const { route } = way
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <Protection value={route.protection} />
        <Text size="sm">Route {route.route}</Text>
      </Group>
      <Guards guards={[...route.guards, ...way.backend.guards]} />
      {(way.backend.providers ?? []).map((provider) => (
        <div key={provider.name}>
          <Text size="sm">{provider.name}</Text>
          <Guards guards={provider.guards} />
        </div>
      ))}
      <Playground way={way} backend={backend} />
    </Stack>
  )
}

function Playground({ way, backend }: { readonly way: Way; readonly backend: Backend }) {
  const names = [...backend.models, ...backend.virtualModels].map(({ name }) => name)
  const [model, setModel] = useState(names[0] ?? null)
  const [prompt, setPrompt] = useState('')
  const [headers, setHeaders] = useState('')
  const [response, setResponse] = useState<PlaygroundResponse>()
  const [problem, setProblem] = useState<ApiProblem>()
  const [isBusy, setBusy] = useState(false)
  const maySend = useMay('editor')
  const run = async () => {
    setBusy(true)
    try {
      const body = { model, messages: [{ role: 'user', content: prompt }] }
      setResponse(
        await play({
          listener: listenerOf(way),
          method: 'POST',
          path: '/v1/chat/completions',
          headers: { 'content-type': 'application/json', ...readHeaders(headers) },
          body: JSON.stringify(body),
        }),
      )
      setProblem(undefined)
    } catch (error) {
      setProblem(error as ApiProblem)
    }
    setBusy(false)
  }
  return (
    <Stack gap="xs">
      <Title order={3} size="h5">
        Playground
      </Title>
      <Select label="Model" data={names} value={model} onChange={setModel} maw={320} />
      <ClientHeaders example="a key" value={headers} onChange={setHeaders} />
      <Textarea
        label="Prompt"
        value={prompt}
        onChange={(event) => setPrompt(event.currentTarget.value)}
        autosize
        minRows={2}
      />
      <Button w="fit-content" onClick={run} loading={isBusy} disabled={prompt === '' || !maySend}>
        Send
      </Button>
      <RoleNote needs="editor" to="send requests" />
      {problem === undefined ? null : <Problem problem={problem} />}
      {response === undefined ? null : (
        <div role="status">
          <Text size="sm" c="dimmed">
            Status {response.status} after {response.milliseconds} ms
          </Text>
          <pre className="box expression">{textOf(response)}</pre>
        </div>
      )}
    </Stack>
  )
}

/** The text of the model; otherwise the whole response. */
function textOf({ body }: PlaygroundResponse): string {
  try {
    const { choices } = JSON.parse(body) as {
      readonly choices?: readonly { readonly message?: { readonly content?: unknown } }[]
    }
    const content = choices?.[0]?.message?.content
    return typeof content === 'string' ? content : body
  } catch {
    return body
  }
}
