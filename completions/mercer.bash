# Completion of mercer for bash. Written by tools/generate-docs; do not edit.

_mercer() {
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=
    # --option=value comes as three words.
    if [[ $current == '=' ]]; then
        current=
    elif [[ $before == '=' ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        words='fit transform predict evaluate compare inverse update info truncate scale generate methods kernels heads demo help --help --version'
    else
        case ${COMP_WORDS[1]}:$before in
        fit:-m|fit:--method) words='pca kpca akfa ackfa skfa rkpca greedy nystroem kica pls kpls sma smc skpls rkopls cr blf kboost krr kfd koca ikpca kha' ;;
        fit:-k|fit:--kernel) words='linear poly rbf laplacian exponential matern rq chi2 intersection sigmoid cosine precomputed' ;;
        fit:-n|fit:--components) words='' ;;
        fit:-o|fit:--output) words='files' ;;
        fit:--center) words='none exact span' ;;
        fit:--scale) words='none standard minmax norm unit rowstandard' ;;
        fit:--landmarks) words='files' ;;
        fit:--validation) words='files' ;;
        fit:--novelty) words='' ;;
        fit:--head) words='ls centre lad exp log knn svm linsvm direct' ;;
        fit:--checkpoint) words='' ;;
        fit:--scale-target) words='none standard norm' ;;
        fit:--label) words='' ;;
        fit:--target) words='' ;;
        fit:--labels) words='files' ;;
        fit:--list-header) words='yes no' ;;
        fit:--columns) words='' ;;
        fit:--drop) words='' ;;
        fit:--id) words='' ;;
        fit:--format) words='csv tsv npy libsvm mtx npz mat hdf5 images' ;;
        fit:--header) words='yes no' ;;
        fit:--resize) words='' ;;
        fit:--image-features) words='pixels haar' ;;
        fit:--encode) words='none onehot' ;;
        fit:--missing) words='error mean drop' ;;
        fit:--store) words='auto dense stream lowrank' ;;
        fit:--precision) words='double single' ;;
        fit:--memory) words='' ;;
        fit:--threads) words='' ;;
        fit:--seed) words='' ;;
        transform:-o|transform:--output) words='files' ;;
        transform:--self) words='files' ;;
        transform:--label) words='' ;;
        transform:--target) words='' ;;
        transform:--labels) words='files' ;;
        transform:--list-header) words='yes no' ;;
        transform:--id) words='' ;;
        transform:--format) words='csv tsv npy libsvm mtx npz mat hdf5 images' ;;
        transform:--header) words='yes no' ;;
        transform:--resize) words='' ;;
        transform:--output-format) words='csv tsv npy libsvm' ;;
        transform:--memory) words='' ;;
        transform:--threads) words='' ;;
        predict:-o|predict:--output) words='files' ;;
        predict:-n|predict:--components) words='' ;;
        predict:--label) words='' ;;
        predict:--target) words='' ;;
        predict:--labels) words='files' ;;
        predict:--list-header) words='yes no' ;;
        predict:--id) words='' ;;
        predict:--format) words='csv tsv npy libsvm mtx npz mat hdf5 images' ;;
        predict:--header) words='yes no' ;;
        predict:--resize) words='' ;;
        predict:--output-format) words='csv tsv npy libsvm' ;;
        predict:--memory) words='' ;;
        predict:--threads) words='' ;;
        evaluate:-m|evaluate:--method) words='pca kpca akfa ackfa skfa rkpca greedy nystroem kica pls kpls sma smc skpls rkopls cr blf kboost krr kfd koca ikpca kha' ;;
        evaluate:--save-predictions) words='files' ;;
        evaluate:--roc) words='files' ;;
        evaluate:-k|evaluate:--kernel) words='linear poly rbf laplacian exponential matern rq chi2 intersection sigmoid cosine precomputed' ;;
        evaluate:-n|evaluate:--components) words='' ;;
        evaluate:--head) words='ls centre lad exp log knn svm linsvm direct' ;;
        evaluate:--cv) words='' ;;
        evaluate:--repeats) words='' ;;
        evaluate:--split) words='files' ;;
        evaluate:--test) words='' ;;
        evaluate:--test-labels) words='files' ;;
        evaluate:--metric) words='error balanced auc ap rmse columns structure reconstruction preimage' ;;
        evaluate:--positive) words='' ;;
        evaluate:--tune) words='' ;;
        evaluate:--inner) words='' ;;
        evaluate:--center) words='none exact span' ;;
        evaluate:--scale) words='none standard minmax norm unit rowstandard' ;;
        evaluate:--scale-target) words='none standard norm' ;;
        evaluate:--store) words='auto dense stream lowrank' ;;
        evaluate:--precision) words='double single' ;;
        evaluate:--label) words='' ;;
        evaluate:--target) words='' ;;
        evaluate:--labels) words='files' ;;
        evaluate:--list-header) words='yes no' ;;
        evaluate:--columns) words='' ;;
        evaluate:--drop) words='' ;;
        evaluate:--id) words='' ;;
        evaluate:--format) words='csv tsv npy libsvm mtx npz mat hdf5 images' ;;
        evaluate:--header) words='yes no' ;;
        evaluate:--resize) words='' ;;
        evaluate:--image-features) words='pixels haar' ;;
        evaluate:--encode) words='none onehot' ;;
        evaluate:--missing) words='error mean drop' ;;
        evaluate:--seed) words='' ;;
        evaluate:--memory) words='' ;;
        evaluate:--threads) words='' ;;
        compare:-m|compare:--method) words='pca kpca akfa ackfa skfa rkpca greedy nystroem kica pls kpls sma smc skpls rkopls cr blf kboost krr kfd koca ikpca kha' ;;
        compare:-k|compare:--kernel) words='linear poly rbf laplacian exponential matern rq chi2 intersection sigmoid cosine precomputed' ;;
        compare:-n|compare:--components) words='' ;;
        compare:--head) words='ls centre lad exp log knn svm linsvm direct' ;;
        compare:--cv) words='' ;;
        compare:--repeats) words='' ;;
        compare:--split) words='files' ;;
        compare:--test) words='' ;;
        compare:--test-labels) words='files' ;;
        compare:--metric) words='error balanced auc ap rmse columns structure reconstruction preimage' ;;
        compare:--positive) words='' ;;
        compare:--tune) words='' ;;
        compare:--inner) words='' ;;
        compare:--center) words='none exact span' ;;
        compare:--scale) words='none standard minmax norm unit rowstandard' ;;
        compare:--scale-target) words='none standard norm' ;;
        compare:--store) words='auto dense stream lowrank' ;;
        compare:--precision) words='double single' ;;
        compare:--label) words='' ;;
        compare:--target) words='' ;;
        compare:--labels) words='files' ;;
        compare:--list-header) words='yes no' ;;
        compare:--columns) words='' ;;
        compare:--drop) words='' ;;
        compare:--id) words='' ;;
        compare:--format) words='csv tsv npy libsvm mtx npz mat hdf5 images' ;;
        compare:--header) words='yes no' ;;
        compare:--resize) words='' ;;
        compare:--image-features) words='pixels haar' ;;
        compare:--encode) words='none onehot' ;;
        compare:--missing) words='error mean drop' ;;
        compare:--seed) words='' ;;
        compare:--memory) words='' ;;
        compare:--threads) words='' ;;
        inverse:-o|inverse:--output) words='files' ;;
        inverse:--id) words='' ;;
        inverse:--format) words='csv tsv npy libsvm mtx npz mat hdf5 images' ;;
        inverse:--header) words='yes no' ;;
        inverse:--output-format) words='csv tsv npy libsvm pgm ppm png' ;;
        inverse:--memory) words='' ;;
        inverse:--threads) words='' ;;
        update:-o|update:--output) words='files' ;;
        update:--checkpoint) words='' ;;
        update:--label) words='' ;;
        update:--target) words='' ;;
        update:--labels) words='files' ;;
        update:--list-header) words='yes no' ;;
        update:--id) words='' ;;
        update:--format) words='csv tsv npy libsvm mtx npz mat hdf5 images' ;;
        update:--header) words='yes no' ;;
        update:--resize) words='' ;;
        update:--memory) words='' ;;
        update:--threads) words='' ;;
        truncate:-n|truncate:--components) words='' ;;
        truncate:-o|truncate:--output) words='files' ;;
        scale:--scale) words='none standard minmax norm unit rowstandard' ;;
        scale:-o|scale:--output) words='files' ;;
        scale:--label) words='' ;;
        scale:--target) words='' ;;
        scale:--labels) words='files' ;;
        scale:--list-header) words='yes no' ;;
        scale:--columns) words='' ;;
        scale:--drop) words='' ;;
        scale:--id) words='' ;;
        scale:--format) words='csv tsv npy libsvm mtx npz mat hdf5 images' ;;
        scale:--header) words='yes no' ;;
        scale:--resize) words='' ;;
        scale:--image-features) words='pixels haar' ;;
        scale:--encode) words='none onehot' ;;
        scale:--missing) words='error mean drop' ;;
        scale:--output-format) words='csv tsv npy libsvm' ;;
        scale:--memory) words='' ;;
        generate:--rows) words='' ;;
        generate:--noise) words='' ;;
        generate:--seed) words='' ;;
        generate:-o|generate:--output) words='files' ;;
        generate:--format) words='csv tsv npy libsvm' ;;
        demo:--rows) words='' ;;
        demo:--seed) words='' ;;
        demo:--memory) words='' ;;
        demo:--threads) words='' ;;
        *)
            case ${COMP_WORDS[1]}:$current in
            fit:-?*) words='--method --kernel --components --output --center --scale --landmarks --validation --novelty --head --checkpoint --resume --scale-target --label --target --labels --list-header --no-label --columns --drop --id --format --header --resize --image-features --encode --missing --store --precision --memory --threads --seed --json --quiet --help' ;;
            fit:*) words='files' ;;
            transform:-?*) words='--output --errors --keep-label --self --label --target --labels --list-header --no-label --id --format --header --resize --output-format --memory --threads --json --quiet --help' ;;
            transform:*) words='files' ;;
            predict:-?*) words='--output --components --label --target --labels --list-header --no-label --id --format --header --resize --output-format --memory --threads --json --quiet --help' ;;
            predict:*) words='files' ;;
            evaluate:-?*) words='--method --save-predictions --roc --kernel --components --head --cv --repeats --split --test --test-labels --metric --positive --tune --inner --center --scale --scale-target --store --precision --label --target --labels --list-header --no-label --columns --drop --id --format --header --resize --image-features --encode --missing --seed --memory --threads --json --quiet --help' ;;
            evaluate:*) words='files' ;;
            compare:-?*) words='--method --kernel --components --head --cv --repeats --split --test --test-labels --metric --positive --tune --inner --center --scale --scale-target --store --precision --label --target --labels --list-header --no-label --columns --drop --id --format --header --resize --image-features --encode --missing --seed --memory --threads --json --quiet --help' ;;
            compare:*) words='files' ;;
            inverse:-?*) words='--output --errors --id --format --header --output-format --memory --threads --json --quiet --help' ;;
            inverse:*) words='files' ;;
            update:-?*) words='--output --checkpoint --resume --label --target --labels --list-header --no-label --id --format --header --resize --memory --threads --json --quiet --help' ;;
            update:*) words='files' ;;
            info:-?*) words='--json --help' ;;
            info:*) words='files' ;;
            truncate:-?*) words='--components --output --json --quiet --help' ;;
            truncate:*) words='files' ;;
            scale:-?*) words='--scale --output --label --target --labels --list-header --no-label --columns --drop --id --format --header --resize --image-features --encode --missing --output-format --memory --json --quiet --help' ;;
            scale:*) words='files' ;;
            generate:-?*) words='--rows --noise --seed --output --format --quiet --help' ;;
            generate:*) words='circle swiss-cross swiss-roll parabola sparse-linear' ;;
            methods:-?*) words='--json --help' ;;
            methods:*) words='pca kpca akfa ackfa skfa rkpca greedy nystroem kica pls kpls sma smc skpls rkopls cr blf kboost krr kfd koca ikpca kha' ;;
            kernels:-?*) words='--json --help' ;;
            kernels:*) words='linear poly rbf laplacian exponential matern rq chi2 intersection sigmoid cosine precomputed' ;;
            heads:-?*) words='--json --help' ;;
            heads:*) words='ls centre lad exp log knn svm linsvm direct' ;;
            demo:-?*) words='--rows --seed --memory --threads --quiet --help' ;;
            demo:*) words='' ;;
            help:*) words='fit transform predict evaluate compare inverse update info truncate scale generate methods kernels heads demo' ;;
            esac
            ;;
        esac
    fi
    if [[ $words == files ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    else
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    fi
}
complete -F _mercer mercer
