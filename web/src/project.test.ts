import { afterEach, expect, test } from 'vitest'
import type { Me, ProjectRole } from './api'
import {
  choose,
  inProject,
  may,
  mayChange,
  me,
  namedProject,
  project,
  projectOf,
  suffices,
  withProject,
} from './project'

const own: ProjectRole = {
  projectId: 'u1',
  name: 'ada',
  isOwn: true,
  role: 'manager',
  quota: null,
  keepResultsDays: null,
  budget: { gpuSeconds: null, cpuSeconds: null },
  commercial: false,
  createdAt: '2026-01-31T09:30:00.000000',
}
const lab: ProjectRole = { ...own, projectId: 'p1', name: 'Lab A', isOwn: false, role: 'viewer' }
const ada: Me = {
  userId: 'u1',
  name: 'ada',
  isService: false,
  isOperator: false,
  scopes: ['read'],
  projectId: 'u1',
  projects: [own, lab],
}

afterEach(() => {
  me.value = null
  choose('')
})

test('the wanted project counts only while the user has a role in it', () => {
  expect(projectOf(null, 'p1')).toBeUndefined()
  expect(projectOf(ada, 'p1')).toBe(lab)
  expect(projectOf(ada, 'gone')).toBe(own)
  expect(projectOf({ ...ada, projectId: 'p1' }, '')).toBe(lab) // a key that is bound to the project
})

test('requests name the chosen project unless it is that of a request without one', () => {
  expect(inProject()).toEqual({}) // nobody is signed in
  me.value = ada
  expect(project.value).toBe(own)
  expect(inProject()).toEqual({})
  choose('p1')
  expect(inProject()).toEqual({ projectId: 'p1' })
  expect(inProject('u1')).toEqual({})
  expect(inProject(null)).toEqual({})
})

test('addresses name the chosen project, and only one in which the user has a role', () => {
  me.value = ada
  expect(withProject('/ui/jobs')).toBe('/ui/jobs')
  choose('p1')
  expect(withProject('/ui/jobs')).toBe('/ui/jobs?project=p1')
  expect(withProject('/ui/jobs?q=a')).toBe('/ui/jobs?q=a&project=p1')
  expect(withProject('/ui/?again=1', 'u1')).toBe('/ui/?again=1')
  expect(withProject('/ui/?again=1', 'other')).toBe('/ui/?again=1')
})

test('a role allows what smaller ones do', () => {
  expect(suffices('manager', 'member')).toBe(true)
  expect(suffices('viewer', 'member')).toBe(false)
  expect(suffices(null, 'viewer')).toBe(false)
})

test('a viewer may not change what the project owns', () => {
  me.value = ada
  expect(may('member')).toBe(true)
  expect(may('member', 'p1')).toBe(false)
  expect(mayChange({ isOwner: true, projectId: 'p1' })).toBe(false)
  expect(mayChange({ is_owner: true, projectId: 'u1' })).toBe(true)
  expect(mayChange({ isOwner: false, projectId: null })).toBe(false)
})

test('a project is named only to who has several', () => {
  me.value = ada
  expect(namedProject('p1')).toBe(lab)
  me.value = { ...ada, projects: [own] }
  expect(namedProject('u1')).toBeUndefined()
})
