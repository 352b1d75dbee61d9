import { Group, SegmentedControl, Stack, Text, TextInput, Title } from '@mantine/core'
import { useState } from 'react'
import type { Catalogue, Effective } from '../api/shapes.ts'
import { useApi } from '../api/use-api.ts'
import { filled, SNIPPETS, type Snippet } from '../clients/snippets.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { Loading, Page, Problem } from '../parts/states.tsx'
import { type Way, waysTo } from '../parts/ways.ts'

const KINDS = [
  { value: 'models', label: 'Models' },
  { value: 'mcp', label: 'MCP servers' },
]

/** How clients are set up: base URL, key and model for each of them. */
export function Clients() {
  const effective = useApi<Effective>('/api/policies/effective')
  const catalogue = useApi<Catalogue>('/api/llm/catalogue')
  const servers = useApi<{ readonly backends: readonly { readonly backend: string }[] }>(
    '/api/mcp/servers',
  )
  const problem = effective.problem ?? catalogue.problem ?? servers.problem
  const { data: backends } = catalogue
  const isRead =
    effective.data !== undefined && backends !== undefined && servers.data !== undefined
  const ways = waysTo(effective.data)
  const wayOf = (names: readonly string[]) => names.flatMap((name) => ways.get(name) ?? [])[0]
  const toModels = wayOf((backends?.backends ?? []).map(({ backend }) => backend))
  const toServers = wayOf((servers.data?.backends ?? []).map(({ backend }) => backend))
  const models = (backends?.backends ?? []).flatMap((one) => [
    ...one.models.map(({ name }) => name),
    ...one.virtualModels.map(({ name }) => name),
  ])
  return (
    <Page title="Clients" lead="How to connect SDKs, editors and agents to this gateway.">
      {problem === undefined ? null : <Problem problem={problem} retry={effective.reload} />}
      {isRead || problem !== undefined ? null : <Loading label="Reading addresses" />}
      {isRead ? (
        <SetUp
          base={originOf(toModels ?? toServers)}
          models={models}
          mcp={`${originOf(toServers ?? toModels)}${pathOf(toServers)}`}
          first={toModels === undefined && toServers !== undefined ? 'mcp' : 'models'}
        />
      ) : null}
    </Page>
  )
}

/** The address as seen from this browser. */
function originOf(way: Way | undefined): string {
  const { protocol = 'HTTP', port, hostname } = way?.listener ?? {}
  const host = hostname === undefined || hostname.startsWith('*') ? location.hostname : hostname
  const scheme = protocol === 'HTTPS' ? 'https' : 'http'
  return `${scheme}://${host}${port === undefined ? '' : `:${port}`}`
}

/** The path prefix or path that the route of MCP servers matches. */
function pathOf(way: Way | undefined): string {
  const [first = ''] = way?.route.matches ?? []
  const path = /\/[^\s*]*/.exec(first)?.[0] ?? '/mcp'
  return path === '/' ? '/mcp' : path
}

interface SetUpProps {
  readonly base: string
  readonly models: readonly string[]
  readonly mcp: string
  readonly first: string
}

function SetUp({ base: usual, models, mcp: usualMcp, first }: SetUpProps) {
  const [kind, setKind] = useState(first)
  const [base, setBase] = useState(usual)
  const [mcp, setMcp] = useState(usualMcp)
  const [key, setKey] = useState('')
  const [model, setModel] = useState(models.find((name) => !name.includes('*')) ?? '')
  const values = {
    base: base.replace(/\/+$/, ''),
    mcp,
    key: key === '' ? 'YOUR_KEY' : key,
    model: model === '' ? 'MODEL' : model,
  }
  return (
    <>
      <SegmentedControl
        aria-label="What to connect to"
        data={KINDS}
        value={kind}
        onChange={setKind}
        w="fit-content"
      />
      <Group align="end" gap="sm">
        {kind === 'models' ? (
          <>
            <TextInput
              label="Base URL"
              value={base}
              onChange={(event) => setBase(event.currentTarget.value)}
              w={300}
            />
            <TextInput
              label="Model"
              list="models-of-clients"
              value={model}
              onChange={(event) => setModel(event.currentTarget.value)}
            />
            <datalist id="models-of-clients">
              {models.slice(0, 200).map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </>
        ) : (
          <TextInput
            label="Address of the MCP servers"
            value={mcp}
            onChange={(event) => setMcp(event.currentTarget.value)}
            w={340}
          />
        )}
        <TextInput
          label="Key"
          type="password"
          autoComplete="off"
          placeholder="YOUR_KEY"
          value={key}
          onChange={(event) => setKey(event.currentTarget.value)}
        />
      </Group>
      <Text size="sm" c="dimmed">
        The key stays on this page. <a href="/ui/keys">Add a key</a> if you have none; the snippets
        send it as a bearer token, where `apiKey` looks for it by default.
      </Text>
      {SNIPPETS.filter(({ to }) => to === kind).map((snippet) => (
        <Shown key={snippet.client} snippet={snippet} values={values} isMasked={key !== ''} />
      ))}
    </>
  )
}

interface ShownProps {
  readonly snippet: Snippet
  readonly values: Parameters<typeof filled>[1]
  readonly isMasked: boolean
}

function Shown({ snippet, values, isMasked }: ShownProps) {
  const { client, where, note } = snippet
  const shown = isMasked ? { ...values, key: '••••••••' } : values
  return (
    <section className="box" aria-label={client}>
      <Stack gap="xs">
        <Group justify="space-between" wrap="nowrap" align="start">
          <div>
            <Title order={2} size="h4">
              {client}
            </Title>
            <Text size="sm" c="dimmed">
              {where}
            </Text>
          </div>
          <CopyButton text={filled(snippet, values)} what={`the snippet for ${client}`} />
        </Group>
        <pre className="expression snippet">{filled(snippet, shown)}</pre>
        {note === undefined ? null : <Text size="sm">{note}</Text>}
      </Stack>
    </section>
  )
}
