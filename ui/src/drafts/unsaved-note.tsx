import { Alert, Group } from '@mantine/core'
import { usePlace } from '../router.ts'
import type { Draft } from './draft-store.ts'
import { draftPath, useDrafts } from './drafts.ts'

/** A resource has two pages: its rules, and all of it. */
function isShownAt(path: string, name: string, draft: Draft): boolean {
  const at = draftPath(name, draft)
  return (
    at === path || at.replace(/^(policies|edit)\//, '') === path.replace(/^(policies|edit)\//, '')
  )
}

/** Links to the drafts of other pages, so that none is forgotten. */
export function UnsavedNote() {
  const { path } = usePlace()
  const others = [...useDrafts()].filter(([name, draft]) => !isShownAt(path, name, draft))
  if (others.length === 0) return null
  return (
    <Alert color="gray" variant="outline" title="Unsaved changes" mb="md" maw={1200}>
      <Group gap="sm">
        {others.map(([name, draft]) => (
          <a key={name} href={`/ui/${draftPath(name, draft)}`}>
            {name}
          </a>
        ))}
      </Group>
    </Alert>
  )
}
