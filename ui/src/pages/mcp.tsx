import { Button, Group, Stack, Text, Textarea, Title } from '@mantine/core'
import { useState } from 'react'
import type { Effective, McpServers } from '../api/shapes.ts'
import { useApi } from '../api/use-api.ts'
import { Guards } from '../parts/guards.tsx'
import { AddLinks, ResourceLink } from '../parts/resource-links.tsx'
import { Empty, Loading, Page, Problem, ReadOnlyNote, RoleNote } from '../parts/states.tsx'
import { Protection, Tag } from '../parts/tags.tsx'
import { type Way, waysTo } from '../parts/ways.ts'
import { ClientHeaders } from '../playground/client-headers.tsx'
import {
  callTool,
  listTools,
  type McpSession,
  openSession,
  type Tool,
} from '../playground/mcp-client.ts'
import { listenerOf, readHeaders } from '../playground/play.ts'
import { useMay } from '../session.ts'

/** Shows MCP servers, the guards of their tools, and a client to try them with. */
export function Mcp() {
  const { data, problem, reload } = useApi<McpServers>('/api/mcp/servers')
  const effective = useApi<Effective>('/api/policies/effective')
  const ways = waysTo(effective.data)
  return (
    <Page
      title="MCP"
      lead="Servers behind this gateway, and the tools that clients see."
      actions={<AddLinks kind="mcp" ids={['server', 'program']} />}
    >
      <ReadOnlyNote />
      {problem === undefined ? null : <Problem problem={problem} retry={reload} />}
      {data === undefined && problem === undefined ? <Loading label="Reading servers" /> : null}
      {data?.backends.length === 0 ? (
        <Empty title="No MCP servers">
          <a href="/ui/edit/mcp/default?add=server">Add an MCP server</a>. The gateway then serves
          its tools at one address, and rules say who may see and call which. In a file, add `mcp:`
          with `targets`.
        </Empty>
      ) : null}
      {(data?.backends ?? []).map(({ backend, servers }) => (
        <section key={backend} className="box" aria-label={`MCP backend ${backend}`}>
          <Stack gap="sm">
            <Title order={2} size="h4">
              <ResourceLink kind="backends" id={backend} />
            </Title>
            {servers.map((server) => (
              <Group key={server.name} gap="xs">
                <Text>{server.name}</Text>
                <Tag tone="quiet">{server.transport}</Tag>
              </Group>
            ))}
            {effective.data === undefined ? <Loading label="Analyzing guards" /> : null}
            {(ways.get(backend) ?? []).map((way, index) => (
              <Guarded key={`${way.route.route} ${index}`} way={way} />
            ))}
          </Stack>
        </section>
      ))}
    </Page>
  )
}

function Guarded({ way }: { readonly way: Way }) {
  const { route, backend } = way
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <Protection value={route.protection} />
        <Text size="sm">
          Route {route.route}, {(route.matches ?? []).join(', ')}
        </Text>
      </Group>
      <Guards guards={[...route.guards, ...backend.guards]} />
      <Playground way={way} />
    </Stack>
  )
}

function Playground({ way }: { readonly way: Way }) {
  const [headers, setHeaders] = useState('')
  const [session, setSession] = useState<McpSession>()
  const [tools, setTools] = useState<readonly Tool[]>()
  const [failure, setFailure] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const maySend = useMay('editor')
  const connect = async () => {
    setBusy(true)
    setTools(undefined)
    try {
      const path = pathOf(way)
      const opened = await openSession({
        listener: listenerOf(way),
        path,
        headers: readHeaders(headers),
      })
      setSession(opened)
      setTools(await listTools(opened))
      setFailure(undefined)
    } catch (error) {
      setFailure((error as Error).message)
    }
    setBusy(false)
  }
  return (
    <Stack gap="xs">
      <Title order={3} size="h5">
        Playground
      </Title>
      <ClientHeaders example="a token" value={headers} onChange={setHeaders} />
      <Button w="fit-content" onClick={connect} loading={isBusy} disabled={!maySend}>
        List the tools that this client sees
      </Button>
      <RoleNote needs="editor" to="send requests" />
      {failure === undefined ? null : (
        <Text role="alert" c="var(--bad)" className="expression">
          {failure}
        </Text>
      )}
      {tools?.length === 0 ? <Text>This client sees no tools.</Text> : null}
      {session === undefined
        ? null
        : (tools ?? []).map((tool) => <ToolCall key={tool.name} session={session} tool={tool} />)}
    </Stack>
  )
}

/** `any /mcp*` → `/mcp`. */
function pathOf({ route }: Way): string {
  const [first = ''] = route.matches ?? []
  return /\/[^\s*]*/.exec(first)?.[0] || '/mcp'
}

function ToolCall({ session, tool }: { readonly session: McpSession; readonly tool: Tool }) {
  const names = Object.keys(tool.inputSchema?.properties ?? {})
  const [args, setArgs] = useState(
    JSON.stringify(Object.fromEntries(names.map((name) => [name, '']))),
  )
  const [result, setResult] = useState<string>()
  const run = async () => {
    try {
      setResult(JSON.stringify(await callTool(session, tool.name, JSON.parse(args)), undefined, 2))
    } catch (error) {
      setResult((error as Error).message)
    }
  }
  return (
    <div className="box">
      <Stack gap="xs">
        <Text fw={600}>{tool.name}</Text>
        {tool.description === undefined ? null : (
          <Text size="sm" c="dimmed">
            {tool.description}
          </Text>
        )}
        <Textarea
          label={`Arguments of ${tool.name}, as JSON`}
          value={args}
          onChange={(event) => setArgs(event.currentTarget.value)}
          autosize
        />
        <Button size="xs" w="fit-content" variant="default" onClick={run}>
          Call {tool.name}
        </Button>
        {result === undefined ? null : <pre className="box expression">{result}</pre>}
      </Stack>
    </div>
  )
}
