import { Button, CopyButton, Group, Stack, Table, Text, Title } from '@mantine/core'
import { useState } from 'react'
import type { Decision, Explained } from '../api/shapes.ts'
import { useApi } from '../api/use-api.ts'
import { Loading, Page, Problem } from '../parts/states.tsx'
import { ActionTag, VerdictTag } from '../parts/tags.tsx'
import { WideTable } from '../parts/wide-table.tsx'
import { Steps } from '../sandbox/steps.tsx'
import { missOf, reasonOf } from './reason.ts'
import { testFileOf } from './test-file.ts'

/** Shows all records of one request or connection. */
export function DecisionPage({ id }: { readonly id: string }) {
  const path = `/api/decisions/${encodeURIComponent(id)}`
  const { data, problem, reload } = useApi<{ decisions: readonly Decision[] }>(path)
  const decisions = data?.decisions ?? []
  const [first] = decisions
  return (
    <Page
      title={first === undefined ? 'Decision' : titleOf(first)}
      lead={id}
      actions={<a href="/ui/decisions">All decisions</a>}
    >
      {problem === undefined ? null : <Problem problem={problem} retry={reload} />}
      {data === undefined && problem === undefined ? <Loading label="Reading it" /> : null}
      {decisions.map((decision, index) => (
        <Why key={index} decision={decision} />
      ))}
      {first?.method === undefined ? null : <MakeTest decisions={decisions} />}
      {first === undefined ? null : <Now id={id} />}
    </Page>
  )
}

function titleOf({ method, path, sni, source }: Decision): string {
  return method === undefined ? `Connection ${sni ?? source}` : `${method} ${path}`
}

function Why({ decision }: { readonly decision: Decision }) {
  const { time, stage, gateway, route, backend, source, host, status, rule, nearest } = decision
  const where = [gateway, route, backend].filter((name) => name !== undefined).join(' → ')
  return (
    <section className="box" aria-label={`Decision at ${stage}`}>
      <Stack gap="sm">
        <Group gap="xs">
          <VerdictTag decision={decision} />
          <Title order={2} size="h4">
            {reasonOf(decision)}
          </Title>
        </Group>
        <Text size="sm" c="dimmed">
          {stage}, {where}, {new Date(time).toLocaleString()}, from {source}
          {host === undefined ? '' : `, host ${host}`}
          {status === undefined ? '' : `, status ${status}`}
        </Text>
        {rule === undefined ? null : <Rule rule={rule} />}
        {nearest === undefined ? null : (
          <>
            <Text size="sm">The nearest Allow rule:</Text>
            <Rule rule={nearest} />
            {nearest.misses.map((miss) => (
              <Text key={miss.condition} size="sm" className="atom tone-bad">
                {missOf(miss)}
              </Text>
            ))}
          </>
        )}
        <Attributes decision={decision} />
      </Stack>
    </section>
  )
}

function Rule({ rule }: { readonly rule: NonNullable<Decision['rule']> }) {
  return (
    <Stack gap={2}>
      <Group gap={6} wrap="nowrap" align="start">
        <ActionTag value={rule.action} />
        <span className="expression">{rule.expression}</span>
      </Group>
      <Text size="sm" c="dimmed">
        {rule.policy}, {rule.origin}
      </Text>
    </Stack>
  )
}

function Attributes({ decision }: { readonly decision: Decision }) {
  if (decision.attributes.length === 0) return null
  return (
    <WideTable label="Attributes" minWidth={260}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Attributes that the rules read</Table.Th>
          <Table.Th>Value</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {decision.attributes.map(({ name, state, value }) => (
          <Table.Tr key={name}>
            <Table.Td className="expression">{name}</Table.Td>
            <Table.Td className="expression">
              {state === 'shown' ? valueText(value) : `(${state})`}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function MakeTest({ decisions }: { readonly decisions: readonly Decision[] }) {
  const [isOpen, setOpen] = useState(false)
  const text = testFileOf(decisions)
  if (text === undefined) return null
  return (
    <section aria-label="Test">
      <Button variant="default" onClick={() => setOpen(!isOpen)} aria-expanded={isOpen}>
        Create a test from this decision
      </Button>
      {isOpen ? (
        <Stack gap="xs" mt="sm">
          <Text size="sm">
            Save it next to the configuration and run{' '}
            <span className="expression">portcullis test FILE</span>. Values that records do not
            hold are marked; add them.
          </Text>
          <pre className="box expression">{text}</pre>
          <CopyButton value={text}>
            {({ copied, copy }) => (
              <Button size="xs" onClick={copy} w="fit-content">
                {copied ? 'Copied' : 'Copy'}
              </Button>
            )}
          </CopyButton>
        </Stack>
      ) : null}
    </section>
  )
}

/** Evaluates the same request with the running configuration. */
function Now({ id }: { readonly id: string }) {
  const [isAsked, setAsked] = useState(false)
  const path = `/api/decisions/${encodeURIComponent(id)}/explain`
  const { data, problem, reload } = useApi<Explained>(isAsked ? path : undefined)
  return (
    <section aria-label="With the current configuration">
      {isAsked ? null : (
        <Button variant="default" onClick={() => setAsked(true)}>
          Explain with the current configuration
        </Button>
      )}
      {problem === undefined ? null : <Problem problem={problem} retry={reload} />}
      {isAsked && data === undefined && problem === undefined ? (
        <Loading label="Evaluating the rules" />
      ) : null}
      {data === undefined ? null : <Steps explained={data} />}
    </section>
  )
}
