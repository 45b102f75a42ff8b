// The server gives the package's module this name.
export { default } from 'uplot';
