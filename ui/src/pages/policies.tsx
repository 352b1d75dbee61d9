import { Group, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ResourceSummary } from '../api/shapes.ts'
import { useApi } from '../api/use-api.ts'
import { AddLinks } from '../parts/resource-links.tsx'
import { Empty, Loading, Page, Problem, ReadOnlyNote } from '../parts/states.tsx'
import { ActionTag, Tag } from '../parts/tags.tsx'
import { ResourceEditor } from '../policies/resource-editor.tsx'
import { type Listed, listResources } from '../policies/resources.ts'
import { ruleBlocks } from '../policies/rule-blocks.ts'
import { usePlace } from '../router.ts'

const SHOWN = 200
const GUARDABLE = ['routes', 'backends', 'policies', 'llm', 'mcp']

export function Policies() {
  const { path } = usePlace()
  const [, kind, id] = path.split('/').map(decodeURIComponent)
  if (kind !== undefined && id !== undefined) {
    return <ResourceEditor key={`${kind}/${id}`} kind={kind} id={id} />
  }
  return <List />
}

function List() {
  const resources = useApi<{ resources: readonly ResourceSummary[] }>('/api/config/resources')
  const whole = useApi<Readonly<Record<string, unknown>>>('/api/config/effective')
  const [search, setSearch] = useState('')
  const problem = resources.problem ?? whole.problem
  const all =
    resources.data === undefined || whole.data === undefined
      ? undefined
      : listResources(resources.data.resources, whole.data).filter(
          ({ summary, value }) =>
            GUARDABLE.includes(summary.kind) || ruleBlocks(summary.kind, value).length > 0,
        )
  const shown = (all ?? []).filter(({ summary, value }) =>
    `${summary.kind}/${summary.id} ${JSON.stringify(value)}`
      .toLowerCase()
      .includes(search.toLowerCase()),
  )
  return (
    <Page
      title="Policies"
      lead="Rules by resource. Open a resource to change its rules."
      actions={
        <Group gap="sm">
          <AddLinks kind="routes" />
          <AddLinks kind="policies" />
        </Group>
      }
    >
      <ReadOnlyNote />
      {problem === undefined ? null : <Problem problem={problem} retry={resources.reload} />}
      {all === undefined && problem === undefined ? <Loading label="Reading rules" /> : null}
      {all === undefined ? null : (
        <TextInput
          aria-label="Search rules"
          placeholder="Name or expression"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
      )}
      {all !== undefined && shown.length === 0 ? (
        <Empty title="No resources match">
          Rules are part of routes, backends and policies. <a href="/ui/new/routes">Add a route</a>{' '}
          first, or clear the search.
        </Empty>
      ) : null}
      <Stack gap="sm">
        {shown.slice(0, SHOWN).map((listed) => (
          <Row key={`${listed.summary.kind}/${listed.summary.id}`} listed={listed} />
        ))}
      </Stack>
      {shown.length > SHOWN ? (
        <Text c="dimmed">{shown.length - SHOWN} more: search to narrow the list.</Text>
      ) : null}
    </Page>
  )
}

function Row({ listed: { summary, value } }: { readonly listed: Listed }) {
  const { kind, id, origin, drift } = summary
  const blocks = ruleBlocks(kind, value)
  return (
    <div className="box">
      <Group gap="xs" mb={4}>
        <a href={`/ui/policies/${encodeURIComponent(kind)}/${encodeURIComponent(id)}`}>
          {kind} / {id}
        </a>
        {origin === 'baseline' ? null : <Tag tone="quiet">Edited</Tag>}
        {drift.length === 0 ? null : <Tag tone="warn">The file has changed since</Tag>}
      </Group>
      {blocks.length === 0 ? (
        <Text size="sm" c="dimmed">
          No rules
        </Text>
      ) : null}
      {blocks.map(({ path, rules, mode }) => (
        <Stack key={path.join('.')} gap={2}>
          <Text size="sm" c="dimmed">
            {path.join('.')}
            {mode === 'Audit' ? ' (audit only)' : ''}
          </Text>
          {rules.map((rule) => (
            <Group key={`${rule.action} ${rule.expression}`} gap={6} wrap="nowrap" align="start">
              <ActionTag value={rule.action} />
              <span className="expression">{rule.expression}</span>
            </Group>
          ))}
        </Stack>
      ))}
    </div>
  )
}
