import { Button, Group, Stack, Text } from '@mantine/core'
import { stringify } from 'yaml'
import { resourcePath } from '../api/client.ts'
import type { Resource } from '../api/shapes.ts'
import { useApi } from '../api/use-api.ts'
import { drafts, useDrafts } from '../drafts/drafts.ts'
import { checkRule } from '../editor/cel-support.ts'
import { Loading, Page, Problem, ReadOnlyNote } from '../parts/states.tsx'
import { editPath, rulesPath } from '../resources/paths.ts'
import { ResourceEditing } from '../resources/resource-editing.tsx'
import { SavedNote } from '../resources/saved-note.tsx'
import { useResourceDraft } from '../resources/use-resource-draft.ts'
import { Provenance } from './provenance.tsx'
import { Revert } from './revert.tsx'
import { RuleBlockFields } from './rule-block-fields.tsx'
import { ruleBlocks, withRules } from './rule-blocks.ts'

/** The path of the first rule block of a resource without rules. */
const FIRST_BLOCK: Readonly<Record<string, readonly string[]>> = {
  routes: ['policies', 'authorization'],
  backends: ['policies', 'authorization'],
  policies: ['policy', 'authorization'],
  llm: ['policies', 'authorization'],
  mcp: ['policies', 'mcpAuthorization'],
}

/** The rules of a resource. */
export function ResourceEditor({ kind, id }: { readonly kind: string; readonly id: string }) {
  const { data, problem, reload } = useApi<Resource>(resourcePath(kind, id))
  const draft = useDrafts().get(`${kind}/${id}`)
  return (
    <Page
      title={`${kind} / ${id}`}
      actions={
        <Group gap="md">
          <a href={`/ui/${editPath(kind, id)}`}>All settings</a>
          <a href="/ui/policies">All policies</a>
        </Group>
      }
    >
      <ReadOnlyNote />
      <SavedNote name={`${kind}/${id}`} undone={reload} />
      {problem === undefined ? null : <Problem problem={problem} retry={reload} />}
      {data === undefined && problem === undefined ? <Loading label="Reading it" /> : null}
      {problem?.status === 404 && draft !== undefined ? (
        <Orphan name={`${kind}/${id}`} value={draft.value} />
      ) : null}
      {data === undefined ? null : <Editing key={data.etag} resource={data} saved={reload} />}
      {data === undefined ? null : (
        <Revert key={`file ${data.etag}`} resource={data} done={reload} />
      )}
      {data === undefined ? null : <Provenance key={`origins ${data.etag}`} resource={data} />}
    </Page>
  )
}

/** The draft of a resource that no longer exists. */
export function Orphan({ name, value }: { readonly name: string; readonly value: unknown }) {
  return (
    <Stack gap="xs">
      <Text size="sm">Your unsaved version of it:</Text>
      <pre className="box expression">{stringify(value)}</pre>
      <Button variant="default" w="fit-content" onClick={() => drafts.set(name, undefined)}>
        Discard my changes
      </Button>
    </Stack>
  )
}

interface EditingProps {
  readonly resource: Resource
  readonly saved: () => void
}

function Editing({ resource, saved }: EditingProps) {
  const { kind, id } = resource
  const draft = useResourceDraft(`${kind}/${id}`, resource, rulesPath(kind, id))
  const { value, setValue } = draft
  const blocks = ruleBlocks(kind, value)
  const mistakes = blocks.flatMap(({ rules, stage }) =>
    rules.flatMap(({ expression }) =>
      checkRule(expression, stage).filter(({ severity }) => severity === 'error'),
    ),
  )
  const first = FIRST_BLOCK[kind]
  return (
    <ResourceEditing
      kind={kind}
      id={id}
      stored={resource}
      draft={draft}
      mistakes={mistakes.length}
      placeOf={({ origin }) => (origin.kind === 'object' ? origin.field : undefined)}
      saved={saved}
      compare={saved}
    >
      {blocks.map((block) => (
        <RuleBlockFields
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
    </ResourceEditing>
  )
}
