import { Button, Group, Stack, Text, TextInput, Title } from '@mantine/core'
import { useState } from 'react'
import type { ResourceSummary } from '../api/shapes.ts'
import { useApi } from '../api/use-api.ts'
import { HINTS } from '../kinds/hints.ts'
import { KINDS, shapeOfKind } from '../kinds/resource-id.ts'
import { Paged } from '../parts/paged.tsx'
import { Problem } from '../parts/states.tsx'
import { Tag } from '../parts/tags.tsx'
import { editPath } from '../resources/paths.ts'

/** All resources with their forms, and what can be added. */
export function ResourceList() {
  const { data, problem, reload } = useApi<{ readonly resources: readonly ResourceSummary[] }>(
    '/api/config/resources',
  )
  const [search, setSearch] = useState('')
  if (problem !== undefined) return <Problem problem={problem} retry={reload} />
  if (data === undefined) return null
  const resources = data.resources.filter(({ isHidden }) => !isHidden)
  const exists = new Set(resources.map(({ kind }) => kind))
  const shown = resources.filter(({ kind, id }) =>
    `${kind} / ${id}`.toLowerCase().includes(search.toLowerCase()),
  )
  const addable = KINDS.filter(
    (kind) => kind !== 'ui' && !(shapeOfKind(kind) === 'single' && exists.has(kind)),
  )
  return (
    <section className="box" aria-label="Resources">
      <Stack gap="sm">
        <Title order={2} size="h4">
          Resources
        </Title>
        <Group gap="xs" role="group" aria-label="Add a resource">
          {addable.map((kind) => (
            <Button key={kind} size="xs" component="a" href={`/ui/new/${kind}`} variant="default">
              Add {HINTS[kind].noun}
            </Button>
          ))}
        </Group>
        <TextInput
          aria-label="Search resources"
          placeholder="Kind or name"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
          maw={320}
        />
        {shown.length === 0 ? <Text c="dimmed">No resources match.</Text> : null}
        <Paged label="resources" items={shown} size={20}>
          {({ kind, id, origin }) => (
            <Group key={`${kind}/${id}`} gap="xs">
              <a href={`/ui/${editPath(kind, id)}`}>
                {kind} / {id}
              </a>
              {origin === 'baseline' ? null : (
                <Tag tone="quiet">{origin === 'database' ? 'Added' : 'Edited'}</Tag>
              )}
            </Group>
          )}
        </Paged>
      </Stack>
    </section>
  )
}
