"""check.py DIR checks what .ci/release has made: what each archive, bundle and image holds, that links of pages in an archive lead to a
file of it, and that manifests name what there is. It opens every file as its users do and prints what is wrong."""
import gzip
import hashlib
import io
import json
import os
import re
import sys
import tarfile
import zipfile

FIRST_BYTES = {"linux": b"\x7fELF", "darwin": b"\xcf\xfa\xed\xfe", "windows": b"MZ"}
MACHINES = {  # where a program says for which processor it is, and what it says
    ("linux", "amd64"): (18, b"\x3e\x00"), ("linux", "arm64"): (18, b"\xb7\x00"),
    ("darwin", "amd64"): (4, b"\x07\x00\x00\x01"), ("darwin", "arm64"): (4, b"\x0c\x00\x00\x01"),
    ("windows", "amd64"): (None, b"\x64\x86"), ("windows", "arm64"): (None, b"\x64\xaa"),
}
PAGES = ["README.md", "CHANGELOG.md", "SKILL.md", "llms.txt", "docs/README.md", "examples/README.md"]
COMPLETIONS = ["completions/wield." + shell for shell in ("bash", "zsh", "fish", "powershell")]
wrong = []


def check(ok, *what):
    if not ok:
        wrong.append(" ".join(map(str, what)))


def files_of(path):
    """The files of a tar or zip by name: (content, whether it can be executed)."""
    if path.endswith((".zip", ".mcpb")):
        with zipfile.ZipFile(path) as z:
            check(z.testzip() is None, path, "is damaged")
            return {i.filename: (z.read(i), bool(i.external_attr >> 16 & 0o100)) for i in z.infolist() if not i.is_dir()}
    with tarfile.open(path) as t:
        return {os.path.normpath(m.name): (t.extractfile(m).read(), bool(m.mode & 0o100)) for m in t if m.isfile()}


def check_program(where, program, system, arch):
    check(program.startswith(FIRST_BYTES[system]), where, "is no program of", system)
    at, machine = MACHINES[system, arch]
    if at is None:  # the PE header stands where the DOS header says
        at = int.from_bytes(program[60:64], "little") + 4
    check(program[at:at + len(machine)] == machine, where, "is not for", arch)


def check_links(where, files):
    """Relative links of pages lead to files or directories of the archive."""
    directories = {os.path.dirname(name) for name in files}
    directories |= {os.path.dirname(d) for d in directories}
    for name, (content, _) in files.items():
        if not name.endswith((".md", "llms.txt")):
            continue
        prose = re.sub(r"(?ms)^ *(`{3,}).*?^ *\1`*$|`[^`\n]*`", "", content.decode())
        for target in re.findall(r"\]\(([^)\s]+)\)", prose):
            target = target.partition("#")[0]
            if not target or re.match(r"[a-z]+:", target):
                continue
            to = os.path.normpath(os.path.join(os.path.dirname(name), target))
            check(to in files or to in directories, where + ":", name, "links to", target + ", which is not in the archive")


def check_archive(path, system, arch):
    """An archive has one directory of its name, with a program and the pages."""
    name = re.sub(r"\.(tar\.gz|zip)$", "", os.path.basename(path))
    files = files_of(path)
    check(all(f.startswith(name + "/") for f in files), path, "has files outside of", name + "/")
    files = {f.removeprefix(name + "/"): content for f, content in files.items()}
    program = "wield.exe" if system == "windows" else "wield"
    manual = [] if system == "windows" else ["man/wield.1.gz", "man/wield-serve.1.gz"]
    for wanted in [program, "LICENSE", *PAGES, *COMPLETIONS, *manual]:
        check(wanted in files, path, "lacks", wanted)
    if program in files:
        check_program(path + ": " + program, files[program][0], system, arch)
        check(files[program][1] or system == "windows", path + ":", program, "cannot be executed")
    for manual in (f for f in files if f.startswith("man/")):
        check(gzip.decompress(files[manual][0]).startswith(b"."), path + ":", manual, "is no manual page")
    check_links(path, files)
    return files


def check_bundle(path, system, arch):
    files = files_of(path)
    manifest = json.loads(files["manifest.json"][0])
    program = manifest["server"]["entry_point"]
    check(program in files, path, "lacks its entry point", program)
    check(manifest["server"]["mcp_config"]["command"] == "${__dirname}/" + program, path, "starts another program than", program)
    check(manifest["compatibility"]["platforms"] == [{"windows": "win32"}.get(system, system)], path, "is not for", system)
    if program in files:
        check_program(path + ": " + program, files[program][0], system, arch)


def check_image(path, version):
    """Blobs fit their sums, `docker load` and `podman load` find a name, and each layer has the program."""
    files = {name: content for name, (content, _) in files_of(path).items()}

    def blob(descriptor):
        content = files["blobs/" + descriptor["digest"].replace(":", "/")]
        check(hashlib.sha256(content).hexdigest() == descriptor["digest"].partition(":")[2], path, descriptor["digest"], "has another sum")
        check(len(content) == descriptor["size"], path, descriptor["digest"], "has another size")
        return content

    index = json.loads(files["index.json"])
    for entry in index["manifests"]:
        names = entry.get("annotations", {})
        check(names.get("org.opencontainers.image.ref.name") == version, path, "has no tag")
        check(names.get("io.containerd.image.name") == "localhost/wield:" + version, path, "has no name for podman load")
        for image in json.loads(blob(entry))["manifests"]:
            manifest = json.loads(blob(image))
            config = json.loads(blob(manifest["config"]))
            times = [config["created"], *(step["created"] for step in config["history"])]
            check(all(re.fullmatch(r"\d{4}(-\d\d){2}T(\d\d:){2}\d\dZ", t) for t in times), path, "has no times:", times)
            check(config["architecture"] == image["platform"]["architecture"], path, "has an image for another processor than it says")
            for layer, diff in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
                content = gzip.decompress(blob(layer))
                check("sha256:" + hashlib.sha256(content).hexdigest() == diff, path, "has a layer with another sum than its image says")
                with tarfile.open(fileobj=io.BytesIO(content)) as t:
                    check_program(path + ": usr/bin/wield", t.extractfile("./usr/bin/wield").read(), "linux", config["architecture"])
    docker = json.loads(files["manifest.json"])
    check(docker[0]["RepoTags"] == ["localhost/wield:" + version], path, "has another name than localhost/wield:" + version)
    for image in docker:
        for name in [image["Config"], *image["Layers"]]:
            check(name in files, path, "lacks", name)


def check_scoop(path, archives):
    manifest = json.load(open(path))
    for arch, entry in manifest["architecture"].items():
        name = os.path.basename(entry["url"])
        if name not in archives:
            check(False, path, "names", name, "which is not there")
            continue
        check(entry["hash"] == hashlib.sha256(open(os.path.join(os.path.dirname(path), name), "rb").read()).hexdigest(),
              path, "has another sum of", name)
        check(entry["extract_dir"] == name.removesuffix(".zip"), path, "extracts another directory of", name)
        check(manifest["bin"] in archives[name], path, "wants", manifest["bin"], "of", name)
        check(name.endswith({"64bit": "_amd64.zip", "arm64": "_arm64.zip"}[arch]), path, "gives", arch, name)


def check_homebrew(path, archives):
    formula = open(path).read()
    found = re.findall(r'url "([^"]+)"\s+sha256 "([0-9a-f]{64})"', formula)
    check(len(found) == 4, path, "has", len(found), "archives")
    wanted = re.findall(r'install "([^"]+)"', formula)
    for url, digest in found:
        name = os.path.basename(url)
        if name not in archives:
            check(False, path, "names", name, "which is not there")
            continue
        check(digest == hashlib.sha256(open(os.path.join(os.path.dirname(path), name), "rb").read()).hexdigest(),
              path, "has another sum of", name)
        for file in wanted:
            check(file in archives[name], path, "installs", file, "which", name, "lacks")


def main(directory):
    archives = {}
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        if built := re.fullmatch(r"wield_.+_(linux|darwin|windows)_(amd64|arm64)\.(tar\.gz|zip|mcpb)", name):
            system, arch, kind = built.groups()
            if kind == "mcpb":
                check_bundle(path, system, arch)
            else:
                archives[name] = check_archive(path, system, arch)
        elif image := re.fullmatch(r"wield_(.+)_image\.tar", name):
            check_image(path, image[1])
    for name, check_manifest in [("wield.json", check_scoop), ("wield.rb", check_homebrew)]:
        path = os.path.join(directory, name)
        if os.path.exists(path):
            check_manifest(path, archives)
    for name in ("wield.json", "wield.rb", "server.json"):
        path = os.path.join(directory, name)
        check(not os.path.exists(path) or not re.search(r"\b(URL|VERSION|NAME|HOMEPAGE|SUM_\w+)\b", open(path).read()), path, "has gaps")
    check(archives, directory, "has no archive")
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{len(archives)} archives checked", file=sys.stderr)
    sys.exit(bool(wrong))


main(sys.argv[1])
