import { Button, Group, Select, SimpleGrid, Stack, Textarea, TextInput } from '@mantine/core'
import { type FormEvent, useEffect, useState } from 'react'
import { type ApiProblem, call } from '../api/client.ts'
import type { Decision, Explained } from '../api/shapes.ts'
import { useApi } from '../api/use-api.ts'
import { Empty, Loading, Page, Problem } from '../parts/states.tsx'
import { usePlace } from '../router.ts'
import { fromDecision, type Hypothetical, NO_REQUEST, readClaims } from '../sandbox/request.ts'
import { Steps } from '../sandbox/steps.tsx'

/** Evaluates the running rules for a hypothetical request. */
export function Sandbox() {
  const { query } = usePlace()
  const recent = useApi<{ decisions: readonly Decision[] }>('/api/decisions?limit=50')
  const [request, setRequest] = useState<Hypothetical>(NO_REQUEST)
  const [explained, setExplained] = useState<Explained>()
  const [problem, setProblem] = useState<ApiProblem>()
  const [isRunning, setRunning] = useState(false)
  const [mistake, setMistake] = useState<string>()
  const asked = query.get('request')
  useEffect(() => {
    if (asked !== null) setRequest({ ...NO_REQUEST, request: asked })
  }, [asked])
  const set = (name: keyof Hypothetical) => (text: string) =>
    setRequest((last) => ({ ...last, [name]: text }))
  const requests = (recent.data?.decisions ?? []).filter((one) => one.method !== undefined)
  const run = async (event: FormEvent) => {
    event.preventDefault()
    const claims = readClaims(request.token)
    if (typeof claims === 'string') {
      setMistake(claims)
      return
    }
    setMistake(undefined)
    setRunning(true)
    try {
      const body = {
        request: request.request,
        headers: request.headers.split('\n').filter((line) => line.trim() !== ''),
        ...(claims === undefined ? {} : { claims }),
        ...(request.source.trim() === '' ? {} : { source: request.source.trim() }),
        ...(request.body === '' ? {} : { body: request.body }),
      }
      setExplained(await call<Explained>('/api/policies/explain', { method: 'POST', body }))
      setProblem(undefined)
    } catch (error) {
      setExplained(undefined)
      setProblem(error as ApiProblem)
    }
    setRunning(false)
  }
  return (
    <Page
      title="Sandbox"
      lead="Evaluate a request with the running rules. Nothing is sent to a backend."
    >
      <form onSubmit={run}>
        <Stack>
          <Select
            label="Start from a recent request"
            placeholder={requests.length === 0 ? 'No requests recorded yet' : 'Choose one'}
            disabled={requests.length === 0}
            data={requests.map((one, index) => ({
              value: String(index),
              label: `${one.method} ${one.path} · ${one.verdict} · ${new Date(one.time).toLocaleTimeString()}`,
            }))}
            onChange={(index) => {
              const chosen = requests[Number(index)]
              if (index !== null && chosen !== undefined) setRequest(fromDecision(chosen))
            }}
            searchable
          />
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <TextInput
              label="Request"
              description="Method and path, or method and URL"
              value={request.request}
              onChange={(event) => set('request')(event.currentTarget.value)}
              required
            />
            <TextInput
              label="Client address"
              description="Optional"
              placeholder="10.0.0.7"
              value={request.source}
              onChange={(event) => set('source')(event.currentTarget.value)}
            />
            <Textarea
              label="Headers"
              description="One per line, name: value"
              value={request.headers}
              onChange={(event) => set('headers')(event.currentTarget.value)}
              autosize
              minRows={3}
            />
            <Textarea
              label="JWT or claims"
              description="A token, read here and not verified, or claims as JSON"
              value={request.token}
              error={mistake}
              onChange={(event) => set('token')(event.currentTarget.value)}
              autosize
              minRows={3}
              maxRows={8}
            />
          </SimpleGrid>
          <Textarea
            label="Body"
            description="Optional: the message of an MCP client or an agent, or a call to a model"
            placeholder='{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "read_note"}}'
            value={request.body}
            onChange={(event) => set('body')(event.currentTarget.value)}
            autosize
            minRows={2}
            maxRows={12}
          />
          <Group>
            <Button type="submit" loading={isRunning}>
              Evaluate
            </Button>
          </Group>
        </Stack>
      </form>
      {problem === undefined ? null : <Problem problem={problem} />}
      {isRunning ? <Loading label="Evaluating the rules" /> : null}
      {explained === undefined || isRunning ? null : <Steps explained={explained} />}
      {explained === undefined && problem === undefined && !isRunning ? (
        <Empty title="See how rules decide">
          Deny rules are evaluated first, every Require rule must pass, and if there are Allow
          rules, at least one must match. Evaluate a request to see each condition with what it
          read.
        </Empty>
      ) : null}
    </Page>
  )
}
