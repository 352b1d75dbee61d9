import { Button, Group, Select, Stack, Text, TextInput, Title } from '@mantine/core'
import { useCallback, useMemo, useState } from 'react'
import { stringify } from 'yaml'
import { type ApiProblem, call, resourcePath } from '../api/client.ts'
import type { ActionName, Change, Resource } from '../api/shapes.ts'
import { useApi } from '../api/use-api.ts'
import { celSupport, checkRule } from '../editor/cel-support.ts'
import { CodeEditor } from '../editor/code-editor.tsx'
import { useHealth, useIsReadOnly } from '../health.ts'
import { Loading, Page, Problem, ReadOnlyNote, RoleNote } from '../parts/states.tsx'
import { useMay } from '../session.ts'
import { Effect } from './effect.tsx'
import { Provenance } from './provenance.tsx'
import { type EditableRule, type RuleBlock, ruleBlocks, withRules } from './rule-blocks.ts'

const ACTIONS: readonly ActionName[] = ['Deny', 'Require', 'Allow']
/** The path of the first rule block of a resource without rules. */
const FIRST_BLOCK: Readonly<Record<string, readonly string[]>> = {
  routes: ['policies', 'authorization'],
  backends: ['policies', 'authorization'],
  policies: ['policy', 'authorization'],
  llm: ['policies', 'authorization'],
  mcp: ['policies', 'mcpAuthorization'],
}

export function ResourceEditor({ kind, id }: { readonly kind: string; readonly id: string }) {
  const { data, problem, reload } = useApi<Resource>(resourcePath(kind, id))
  return (
    <Page title={`${kind} / ${id}`} actions={<a href="/ui/policies">All policies</a>}>
      <ReadOnlyNote />
      {problem === undefined ? null : <Problem problem={problem} retry={reload} />}
      {data === undefined && problem === undefined ? <Loading label="Reading it" /> : null}
      {data === undefined ? null : <Editing key={data.etag} resource={data} saved={reload} />}
      {data === undefined ? null : <Provenance key={`origins ${data.etag}`} resource={data} />}
    </Page>
  )
}

interface EditingProps {
  readonly resource: Resource
  readonly saved: () => void
}

function Editing({ resource, saved }: EditingProps) {
  const { kind, id, etag } = resource
  const [value, setValue] = useState<unknown>(resource.value)
  const [previewed, setPreviewed] = useState<unknown>()
  const [seen, setSeen] = useState<unknown>()
  const isReadOnly = useIsReadOnly()
  const mayEdit = useMay('editor')
  const blocks = ruleBlocks(kind, value)
  const isChanged = JSON.stringify(value) !== JSON.stringify(resource.value)
  const mistakes = blocks.flatMap(({ rules, stage }) =>
    rules.flatMap(({ expression }) =>
      checkRule(expression, stage).filter(({ severity }) => severity === 'error'),
    ),
  )
  const changes = useMemo<readonly Change[]>(
    () => [{ action: 'set', kind, id, value: previewed }],
    [kind, id, previewed],
  )
  const done = useCallback(
    (isValid: boolean) => setSeen(isValid ? previewed : undefined),
    [previewed],
  )
  const first = FIRST_BLOCK[kind]
  return (
    <Stack gap="lg">
      {blocks.map((block) => (
        <Block
          key={block.path.join('.')}
          block={block}
          onChange={(rules, mode) => setValue(withRules(value, block.path, rules, mode))}
        />
      ))}
      {blocks.length === 0 && first !== undefined ? (
        <Group>
          <Text>No rules are set here.</Text>
          <Button
            variant="default"
            onClick={() =>
              setValue(withRules(value, first, [{ action: 'Require', expression: '' }], 'Enforce'))
            }
          >
            Add rules
          </Button>
        </Group>
      ) : null}
      <Group>
        <Button
          disabled={!isChanged || mistakes.length > 0}
          onClick={() => {
            setSeen(undefined)
            setPreviewed(value)
          }}
        >
          See the effect
        </Button>
        <Button variant="default" disabled={!isChanged} onClick={() => setValue(resource.value)}>
          Undo all changes
        </Button>
        <Text size="sm" role="status">
          {mistakes.length > 0
            ? `${mistakes.length} ${mistakes.length === 1 ? 'mistake' : 'mistakes'} to fix first`
            : isChanged
              ? ''
              : 'Nothing changed yet.'}
        </Text>
      </Group>
      {previewed === undefined ? null : <Effect changes={changes} done={done} />}
      {isChanged && isReadOnly === true ? <ForTheFile kind={kind} value={value} /> : null}
      {isChanged && isReadOnly === false ? <RoleNote needs="editor" to="save changes" /> : null}
      {isChanged && isReadOnly === false && mayEdit ? (
        <Save
          path={resourcePath(kind, id)}
          etag={etag}
          value={value}
          isSeen={seen === value}
          saved={saved}
        />
      ) : null}
    </Stack>
  )
}

interface BlockProps {
  readonly block: RuleBlock
  readonly onChange: (rules: readonly EditableRule[], mode: RuleBlock['mode']) => void
}

function Block({ block, onChange }: BlockProps) {
  const { path, rules, mode, stage } = block
  const support = celSupport(stage)
  const name = path.join('.')
  const replace = (index: number, rule: EditableRule | undefined) =>
    onChange(
      rules.flatMap((own, at) => (at !== index ? [own] : rule === undefined ? [] : [rule])),
      mode,
    )
  return (
    <section aria-label={name}>
      <Group justify="space-between" align="end" mb="xs">
        <div>
          <Title order={2} size="h4">
            {name}
          </Title>
          <Text size="sm" c="dimmed">
            Evaluated at stage {stage}: Deny rules first, then every Require rule must pass, then
            one Allow rule must match.
          </Text>
        </div>
        <Select
          label="Mode"
          data={['Enforce', 'Audit']}
          value={mode}
          allowDeselect={false}
          onChange={(chosen) => onChange(rules, chosen === 'Audit' ? 'Audit' : 'Enforce')}
          w={130}
        />
      </Group>
      <Stack gap="sm">
        {rules.map((rule, index) => (
          <Group key={`${name} ${index}`} align="start" gap="xs">
            <Select
              aria-label={`Action of rule ${index + 1}`}
              data={[...ACTIONS]}
              value={rule.action}
              allowDeselect={false}
              onChange={(action) => replace(index, { ...rule, action: action as ActionName })}
              w={110}
            />
            <div style={{ flex: '1 1 16rem', minWidth: 0 }}>
              <CodeEditor
                label={`Condition of rule ${index + 1}`}
                value={rule.expression}
                onChange={(expression) => replace(index, { ...rule, expression })}
                extensions={support}
              />
              <Mistakes expression={rule.expression} stage={stage} />
            </div>
            <Button
              variant="default"
              aria-label={`Remove rule ${index + 1}`}
              onClick={() => replace(index, undefined)}
              disabled={rules.length === 1}
            >
              Remove
            </Button>
          </Group>
        ))}
        <Button
          variant="default"
          w="fit-content"
          onClick={() => onChange([...rules, { action: 'Allow', expression: '' }], mode)}
        >
          Add a rule
        </Button>
      </Stack>
    </section>
  )
}

/** Repeats diagnostics as text below the editor, because marks in it are easy to miss. */
function Mistakes({ expression, stage }: { expression: string; stage: RuleBlock['stage'] }) {
  return checkRule(expression, stage).map(({ message, severity }) => (
    <Text
      key={message}
      size="sm"
      c={severity === 'error' ? 'var(--bad)' : 'var(--warn)'}
      style={{ whiteSpace: 'pre-line' }}
    >
      {message}
    </Text>
  ))
}

function ForTheFile({ kind, value }: { readonly kind: string; readonly value: unknown }) {
  return (
    <div>
      <Title order={3} size="h5" mb={4}>
        For the file
      </Title>
      <Text size="sm">Replace the item in `{kind}` with this to apply the change:</Text>
      <pre className="box expression">{stringify(value)}</pre>
    </div>
  )
}

interface SaveProps {
  readonly path: string
  readonly etag: string
  readonly value: unknown
  readonly isSeen: boolean
  readonly saved: () => void
}

function Save({ path, etag, value, isSeen, saved }: SaveProps) {
  const [comment, setComment] = useState('')
  const [problem, setProblem] = useState<ApiProblem>()
  const [isSaving, setSaving] = useState(false)
  const health = useHealth()
  const save = async () => {
    setSaving(true)
    try {
      const query = comment.trim() === '' ? '' : `?comment=${encodeURIComponent(comment.trim())}`
      const headers = { 'if-match': etag }
      await call(`${path}${query}`, { method: 'PUT', body: value, headers })
      health.reload()
      saved()
    } catch (error) {
      setProblem(error as ApiProblem)
    }
    setSaving(false)
  }
  return (
    <Stack gap="sm">
      <TextInput
        label="Comment for the history"
        placeholder="Reason for the change"
        value={comment}
        onChange={(event) => setComment(event.currentTarget.value)}
        maw={520}
      />
      <Group>
        <Button onClick={save} disabled={!isSeen} loading={isSaving}>
          Save
        </Button>
        <Text size="sm" c="dimmed">
          {isSeen ? 'All replicas apply it at once.' : 'See the effect first.'}
        </Text>
      </Group>
      {problem === undefined ? null : <Problem problem={problem} />}
      {problem?.status === 412 ? <Conflict problem={problem} reload={saved} /> : null}
    </Stack>
  )
}

function Conflict({ problem, reload }: { problem: ApiProblem; reload: () => void }) {
  const { current } = problem.more as { readonly current?: { readonly value?: unknown } | null }
  return (
    <Stack gap="xs">
      <Text size="sm">What is stored now:</Text>
      <pre className="box expression">{stringify(current?.value ?? null)}</pre>
      <Button variant="default" w="fit-content" onClick={reload}>
        Load it and discard my change
      </Button>
    </Stack>
  )
}
